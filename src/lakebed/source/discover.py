"""Finds deliveries: one listing of the source, every manifest in it, and which delivery of each month counts."""

import io
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import LakebedError, ManifestError, NotFound, SourceError
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.model import Delivery, Slice, SourceFile
from lakebed.source.deliveries import (
    MANIFEST_NAME,
    STATUS_FOLDER,
    UNKNOWN_PAYER,
    file_form,
    folder_period,
    is_dated,
)
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import read_payer
from lakebed.source.manifest import Manifest, read_manifest
from lakebed.source.places import locate
from lakebed.source.plain import plain_deliveries
from lakebed.storage import Entry, Storage, absolute, is_local, local_path

_READERS = 16
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SkippedSource:
    """A manifest or delivery that is left out, and why."""

    uri: str
    reason: str


@dataclass(frozen=True)
class DiscoverReport:
    """The delivery of each payer, report and period that counts, newest period first, and all that does not count."""

    deliveries: tuple[Delivery, ...] = ()
    superseded: tuple[Delivery, ...] = ()
    warnings: tuple[str, ...] = ()
    skipped: tuple[SkippedSource, ...] = ()

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """What the user must hear: what is wrong with one file first, since it explains the rest."""
        return (*self._left_out, *self.warnings)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is doubtful about the source as a whole; a delivery whose files are missing answers for itself."""
        about_files = {_missing_files(delivery) for delivery in self.deliveries if delivery.missing}
        return (*self._left_out, *(warning for warning in self.warnings if warning not in about_files))

    @property
    def _left_out(self) -> tuple[str, ...]:
        return tuple(f"{skipped.uri}: {skipped.reason}" for skipped in self.skipped)

    def to_dict(self) -> dict[str, object]:
        return {
            "deliveries": [_summary(delivery) for delivery in self.deliveries],
            "superseded": [_summary(delivery) for delivery in self.superseded],
            "warnings": list(self.warnings),
            "skipped": [{"uri": each.uri, "reason": each.reason} for each in self.skipped],
        }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A delivery and what decides whether it is the newest of its slice."""

    delivery: Delivery
    time_is_known: bool
    is_named_current: bool
    modified: datetime

    @property
    def age(self) -> tuple[bool, datetime, datetime, str]:
        # A UUID says nothing of its time, and a copied file's own time little. But each delivery writes its manifest
        # over the one in the date folder: the delivery which that one names is the newest.
        named = self.is_named_current and not self.time_is_known
        return named, self.delivery.created_at or _LONG_AGO, self.modified, self.delivery.id


def find_deliveries(
    source: str, storage: Storage, filters: DiscoverFilters | None = None, limits: Limits = DEFAULT_LIMITS
) -> DiscoverReport:
    """All deliveries below a folder, a manifest or a data file: those that count, and the superseded.

    What cannot be read is skipped with its reason; files that a manifest lists and that are not there make their
    delivery incomplete and are warned of. One listing, and one read for each manifest.
    """
    wanted = filters or DiscoverFilters()
    listed = _listing(source, storage)
    manifests, skipped, left_out = _manifests(source, listed, storage, wanted, limits)
    # A broken manifest is still one: without it, which of the files count is not known.
    warnings: list[str] = []
    if manifests or skipped or left_out:
        candidates = _with_payers(_candidates(manifests, listed), storage, wanted, limits)
        warnings += _strays(source, manifests, listed, is_whole=not left_out)
    else:
        found = plain_deliveries(source, listed.values(), storage, wanted, limits)
        candidates = [_Candidate(delivery, True, False, _LONG_AGO) for delivery in found]
    fitting = [each for each in candidates if wanted.wants(each.delivery.slice)]
    if not fitting:
        warnings.append(_nothing(source, candidates, listed, left_out))
    fitting, updating = _without_updating(fitting, listed, storage)
    current, superseded = _newest(fitting)
    warnings += _doubts(current, superseded, listed)
    return DiscoverReport(
        deliveries=tuple(sorted(current, key=_newest_first)),
        superseded=tuple(sorted(superseded, key=_newest_first)),
        warnings=tuple(warnings),
        skipped=(*skipped, *updating),
    )


def _newest_first(delivery: Delivery) -> tuple[int, float, Slice]:
    created = delivery.created_at or _LONG_AGO
    return -int(delivery.slice.period.replace("-", "")), -(created - _LONG_AGO).total_seconds(), delivery.slice


def _listing(source: str, storage: Storage) -> dict[str, Entry]:
    """Everything that may belong to the source, by its address."""
    root = absolute(source)
    if is_local(root) and not local_path(root).exists():
        raise NotFound(f"there is nothing at {root}", uri=root, remedy="Give a folder, a manifest or a data file.")
    name = root.rsplit("/", 1)[-1]
    if MANIFEST_NAME.search(name):
        return _below(_report_folder(root), storage)
    if file_form(name) is not None and (not is_local(root) or local_path(root).is_file()):
        try:
            return {root: replace(storage.head(root), uri=root)}
        except NotFound:
            # A prefix may well be called `x.csv`.
            pass
    return _below(root, storage)


def _below(folder: str, storage: Storage) -> dict[str, Entry]:
    if is_local(folder):
        _require_links_inside(local_path(folder))
    return {entry.uri: entry for entry in storage.list(folder)}


def _require_links_inside(root: Path) -> None:
    """Refuses a link that leads out of the source: whoever filled the folder may not choose what else is read.

    The source itself may be a link.
    """
    real = root.resolve()
    for folder, folders, names in os.walk(real):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink() and not path.resolve().is_relative_to(real):
                raise SourceError(
                    f"{root / path.relative_to(real)} is a link that leads out of the source",
                    remedy="Copy what it leads to into the source, or give that place as a source of its own.",
                )


def _report_folder(manifest: str) -> str:
    """The folder of a manifest's export or report, which is what its dated folder lies in; else its own folder."""
    parts = manifest.split("/")[:-1]
    for index in range(len(parts) - 1, 0, -1):
        if is_dated(parts[index]):
            return "/".join(parts[: index - 1] if parts[index - 1] == "metadata" else parts[:index])
    return "/".join(parts)


def _manifests(
    source: str, listed: Mapping[str, Entry], storage: Storage, wanted: DiscoverFilters, limits: Limits
) -> tuple[list[Manifest], list[SkippedSource], int]:
    """Every manifest of the wanted periods, what could not be read, and how many were left out by their folder."""
    root = absolute(source)
    found = [entry for entry in listed.values() if MANIFEST_NAME.search(entry.uri.rsplit("/", 1)[-1])]
    if root in listed and MANIFEST_NAME.search(root.rsplit("/", 1)[-1]):
        found = [listed[root]]
    chosen = []
    for entry in found:
        period = folder_period(entry.uri.split("/")[:-1])
        if period is None or wanted.wants_period(period):
            chosen.append(entry)
    manifests: list[Manifest] = []
    skipped: list[SkippedSource] = []
    with ThreadPoolExecutor(_READERS) as readers:
        for entry, read in zip(chosen, readers.map(lambda each: _read(each, storage, limits), chosen), strict=True):
            if isinstance(read, Manifest):
                manifests.append(read)
            elif read is not None:
                skipped.append(SkippedSource(entry.uri, str(read)))
    return manifests, skipped, len(found) - len(chosen)


def _read(entry: Entry, storage: Storage, limits: Limits) -> Manifest | LakebedError | None:
    if entry.size_bytes > limits.manifest_bytes:
        return ManifestError(
            f"has {entry.size_bytes} bytes", manifest=entry.uri, remedy=limits.remedy("manifest_bytes")
        )
    try:
        return read_manifest(entry, storage.read(entry.uri), limits)
    except (SourceError, NotFound) as error:
        return error


def _candidates(manifests: Iterable[Manifest], listed: Mapping[str, Entry]) -> list[_Candidate]:
    """One candidate for each delivery: the copies of its manifest are put together."""
    copies: dict[tuple[Slice, str, str], list[Manifest]] = {}
    for manifest in manifests:
        slice_ = Slice(manifest.payer, manifest.report, manifest.period)
        # Two payers may use one id; whose it is, only the folder tells until the data is looked at.
        place = _report_folder(manifest.uri) if manifest.payer == UNKNOWN_PAYER else ""
        copies.setdefault((slice_, manifest.id, place), []).append(manifest)
    candidates = []
    for (slice_, _, _), same in copies.items():
        deliveries = [_delivery(manifest, slice_, listed) for manifest in same]
        # The copy in the delivery's own folder is never written over; one that finds more of its files is better.
        best = min(
            range(len(same)), key=lambda at: (len(deliveries[at].missing), not same[at].in_own_folder, same[at].uri)
        )
        modified = [manifest.modified for manifest in same if manifest.modified is not None]
        candidates.append(
            _Candidate(
                deliveries[best],
                time_is_known=same[best].created_at is not None,
                is_named_current=any(not manifest.in_own_folder for manifest in same),
                modified=min(modified, default=_LONG_AGO),
            )
        )
    return candidates


def _delivery(manifest: Manifest, slice_: Slice, listed: Mapping[str, Entry]) -> Delivery:
    files: list[SourceFile] = []
    missing: list[str] = []
    empty: list[str] = []
    for key, form, entry in zip(manifest.keys, manifest.forms, locate(manifest, listed), strict=True):
        if entry is None:
            missing.append(key)
        elif not entry.size_bytes:
            # Even a month without usage has a header: a file of no bytes is one that did not arrive.
            missing.append(key)
            empty.append(key)
        else:
            files.append(SourceFile(entry.uri, key, form.content, form.compression, entry.size_bytes, entry.etag))
    return Delivery(
        slice=slice_,
        id=manifest.id,
        kind=manifest.kind,
        manifest=manifest.uri,
        columns=manifest.columns,
        files=tuple(files),
        missing=tuple(missing),
        empty=tuple(empty),
        created_at=manifest.created_at or manifest.modified,
        overwritten_in_place=manifest.overwritten_in_place,
        manifest_etag=manifest.etag,
    )


def _with_payers(
    candidates: list[_Candidate], storage: Storage, wanted: DiscoverFilters, limits: Limits
) -> list[_Candidate]:
    """The candidates with the payer that their data names, where their manifest does not.

    Central buckets hold exports of one name from many payers; without this they would supersede each other.
    """

    def known(candidate: _Candidate) -> _Candidate:
        delivery = candidate.delivery
        if delivery.slice.payer != UNKNOWN_PAYER or not wanted.wants_period(delivery.slice.period):
            return candidate
        found = next((payer for file in delivery.files[:1] if (payer := read_payer(file, storage, limits))), None)
        payer = found or wanted.payer or UNKNOWN_PAYER
        return replace(candidate, delivery=replace(delivery, slice=replace(delivery.slice, payer=payer)))

    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(known, candidates))


def _newest(candidates: Iterable[_Candidate]) -> tuple[list[Delivery], list[Delivery]]:
    slices: dict[Slice, list[_Candidate]] = {}
    for candidate in candidates:
        slices.setdefault(candidate.delivery.slice, []).append(candidate)
    current, superseded = [], []
    for same in slices.values():
        by_id: dict[str, Delivery] = {}
        for candidate in sorted(same, key=lambda each: each.age, reverse=True):
            # One delivery that is mirrored twice is still one.
            by_id.setdefault(candidate.delivery.id, candidate.delivery)
        newest, *older = by_id.values()
        current.append(newest)
        superseded += older
    return current, superseded


def _without_updating(
    candidates: list[_Candidate], listed: Mapping[str, Entry], storage: Storage
) -> tuple[list[_Candidate], list[SkippedSource]]:
    """Leaves out the Parquet reports that AWS is writing at this moment, as their status file says."""
    status_files = [uri for uri in listed if f"/{STATUS_FOLDER}/" in uri]
    busy = tuple(uri.split(f"{STATUS_FOLDER}/")[0] for uri in status_files if _is_updating(storage.read(uri)))
    ready: list[_Candidate] = []
    skipped: list[SkippedSource] = []
    for candidate in candidates:
        files = candidate.delivery.files
        if busy and any(file.uri.startswith(busy) for file in files):
            reason = f"{candidate.delivery.slice} is being written ({STATUS_FOLDER} is UPDATING): try again later"
            skipped.append(SkippedSource(candidate.delivery.manifest or files[0].uri, reason))
        else:
            ready.append(candidate)
    return ready, skipped


def _is_updating(content: bytes) -> bool:
    try:
        values = pq.read_table(io.BytesIO(content)).to_pydict().values()
    except pa.ArrowInvalid:
        return b"UPDATING" in content
    return any(value == "UPDATING" for column in values for value in column)


def _strays(source: str, manifests: list[Manifest], listed: Mapping[str, Entry], *, is_whole: bool) -> list[str]:
    """A warning of data files that no manifest lists: they are not loaded, and that may be a surprise."""
    if not is_whole or MANIFEST_NAME.search(source.rsplit("/", 1)[-1]):
        return []
    known = {entry.uri for manifest in manifests for entry in locate(manifest, listed) if entry is not None}
    strays = [
        uri
        for uri in listed
        if uri not in known and file_form(uri.rsplit("/", 1)[-1]) is not None and STATUS_FOLDER not in uri
    ]
    if not strays:
        return []
    return [f"{len(strays)} data files belong to no manifest and are left out, such as {min(strays)}"]


def _nothing(source: str, candidates: list[_Candidate], listed: Mapping[str, Entry], left_out: int) -> str:
    if not candidates and left_out:
        return f"no delivery under {source} fits the filters; {left_out} manifests are of other periods"
    if not candidates:
        looked = "1 file" if len(listed) == 1 else f"{len(listed)} files"
        return f"no delivery found under {source} ({looked} looked at)"
    slices = sorted({each.delivery.slice for each in candidates})
    shown = "; ".join(str(each) for each in slices[:5]) + (f" and {len(slices) - 5} more" if len(slices) > 5 else "")
    return f"no delivery under {source} fits the filters; there are: {shown}"


def _is_behind(delivery: Delivery, listed: Mapping[str, Entry]) -> bool:
    """Whether a file is newer than its manifest. Copies on a disk have times of their own and say nothing."""
    manifest = listed.get(delivery.manifest or "")
    if manifest is None or manifest.modified is None or is_local(manifest.uri):
        return False
    times = (listed[file.uri].modified for file in delivery.files)
    return any(time is not None and time > manifest.modified for time in times)


def _missing_files(delivery: Delivery) -> str:
    total = len(delivery.files) + len(delivery.missing)
    return (
        f"{delivery.slice}: {len(delivery.missing)} of {total} files are missing, such as {delivery.missing_names[0]}"
    )


def _doubts(current: list[Delivery], superseded: list[Delivery], listed: Mapping[str, Entry]) -> list[str]:
    warnings = []
    for delivery in current:
        if delivery.missing:
            warnings.append(_missing_files(delivery))
        if delivery.overwritten_in_place and delivery.manifest and _is_behind(delivery, listed):
            warnings.append(
                f"{delivery.slice}: files are newer than their manifest, which AWS writes last: the month may be half "
                "written over. Run again when the next manifest is there."
            )
        same = [delivery, *(other for other in superseded if other.slice == delivery.slice)]
        places = sorted({_report_folder(other.manifest or other.files[0].uri) for other in same})
        if len(places) > 1:
            warnings.append(
                f"{delivery.slice} lies in {len(places)} folders, and only the newest delivery of all counts: "
                f"{', '.join(places)}"
            )
        kinds = {other.kind for other in same}
        if len(kinds) > 1:
            warnings.append(
                f"{delivery.slice} is delivered as {' and '.join(sorted(kinds))}; only the newest delivery counts, "
                f"which is {delivery.kind}. Discover one of them by its own folder if both are wanted."
            )
    return warnings


def _summary(delivery: Delivery) -> dict[str, object]:
    return {
        "payer": delivery.slice.payer,
        "report": delivery.slice.report,
        "period": delivery.slice.period,
        "delivery": delivery.id,
        "kind": delivery.kind,
        "created_at": delivery.created_at,
        "complete": delivery.complete,
        "missing": list(delivery.missing),
        "empty": list(delivery.empty),
        "files": len(delivery.files),
        "size_bytes": delivery.size_bytes,
        "columns": len(delivery.columns),
        "overwritten_in_place": delivery.overwritten_in_place,
        "manifest": delivery.manifest,
    }
