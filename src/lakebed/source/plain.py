"""CSV and Parquet files without any manifest: the user, their folders or their data say what they are."""

import hashlib
from collections.abc import Iterable

from lakebed.errors import ConfigError
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.model import Delivery, Slice, SourceFile
from lakebed.source.deliveries import (
    STATUS_FOLDER,
    UNKNOWN_PAYER,
    file_form,
    folder_period,
    report_by_folder,
)
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import read_payer
from lakebed.storage import Entry, Storage, absolute


def plain_deliveries(
    source: str,
    entries: Iterable[Entry],
    storage: Storage,
    filters: DiscoverFilters,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Delivery]:
    """One delivery for each report and period among the files. Raises ConfigError where one of the two is not known."""
    root = absolute(source)
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        *folders, name = entry.uri.split("/")
        # A dated folder above the source may be that of a backup: only what lies below it names billing periods.
        below = entry.uri.removeprefix(root).strip("/").split("/")[:-1]
        if file_form(name) is None or name.startswith((".", "_")) or STATUS_FOLDER in folders:
            continue
        report = filters.report or report_by_folder(folders)
        period = folder_period(below) or filters.period
        if not report or not period:
            raise ConfigError(
                f"there is no manifest under {source}, and {entry.uri} does not say what it is",
                remedy="Say it: --report NAME --period 2026-10.",
            )
        groups.setdefault((report, period), []).append(entry)
    return [
        _delivery(report, period, files, storage, filters, limits) for (report, period), files in sorted(groups.items())
    ]


def _delivery(
    report: str, period: str, entries: list[Entry], storage: Storage, filters: DiscoverFilters, limits: Limits
) -> Delivery:
    entries = sorted(entries, key=lambda entry: entry.uri)
    files = tuple(_file(entry) for entry in entries)
    payer = filters.payer or read_payer(files[0], storage, limits) or UNKNOWN_PAYER
    times = [entry.modified for entry in entries if entry.modified is not None]
    return Delivery(
        slice=Slice(payer, report, period),
        id=_identity(entries),
        kind="plain",
        manifest=None,
        columns=(),
        files=files,
        created_at=max(times, default=None),
        overwritten_in_place=True,
    )


def _file(entry: Entry) -> SourceFile:
    name = entry.uri.rsplit("/", 1)[-1]
    form = file_form(name)
    assert form is not None
    return SourceFile(entry.uri, name, form.content, form.compression, entry.size_bytes, entry.etag)


def _identity(entries: list[Entry]) -> str:
    """The files' names, sizes and ETags: the same files are the same delivery, and changed ones are another."""
    facts = "\n".join(f"{entry.uri.rsplit('/', 1)[-1]} {entry.size_bytes} {entry.etag}" for entry in entries)
    return f"files-{hashlib.sha256(facts.encode()).hexdigest()[:16]}"
