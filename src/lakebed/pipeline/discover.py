"""`lakebed discover`: which deliveries there are, and which of each month counts."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Unpack

from lakebed.errors import ConfigError, LakebedError, SourceError
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.source.discover import DiscoverReport, find_deliveries
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.state.ledger import Ledger
from lakebed.workspace import Workspace


def discover(
    source: str | os.PathLike[str],
    *,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    **settings: Unpack[RunSettings],
) -> DiscoverReport:
    """Lists the deliveries of a source and writes them down: the one that counts for each month, and those it replaces.

    >>> _ = lakebed.sample("bills", months=2, rows=10, restate=False)
    >>> [(one.slice.period, len(one.files), one.complete) for one in lakebed.discover("bills").deliveries]
    [('2026-10', 4, True), ('2026-09', 4, True)]
    """
    workspace = open_workspace(workdir, settings)
    place = os.fspath(source)
    found = find_deliveries(
        place, workspace.storage, DiscoverFilters(report, payer, period, since, until), workspace.settings.limits
    )
    with workspace.ledger() as ledger:
        ledger.record_discovered(found.deliveries, superseded=found.superseded, source=place)
    return found


def discover_to_load(workspace: Workspace, source: str, filters: DiscoverFilters, observer: Observer) -> DiscoverReport:
    """What there is to load, its warnings passed on. Refuses a source without any, and a doubtful one if strict."""
    found = find_deliveries(source, workspace.storage, filters, workspace.settings.limits)
    warnings = found.all_warnings
    # Where there is nothing to load, the first of them is the error: it is not said twice.
    for warning in warnings if found.deliveries else warnings[1:]:
        observer.warned(warning)
    if not found.deliveries:
        reason = next(iter(warnings), f"no delivery found under {source}")
        raise SourceError(reason, remedy="`lakebed discover SOURCE` shows what there is and what was left out.")
    if workspace.settings.strict and found.doubts:
        raise SourceError(
            f"--strict refuses a source of which there are doubts: {found.doubts[0]}"
            + (f" (and {len(found.doubts) - 1} more)" if len(found.doubts) > 1 else ""),
            remedy="`lakebed discover SOURCE` shows them all; without --strict they are warnings.",
        )
    observer.discovered(len(found.deliveries), len(found.superseded))
    return found


class KnownDeliveries:
    """Every delivery that a new table is to have the columns of: those of all periods, whatever was asked for.

    The columns are those of the manifests and of the files' headers, which may have more. Looked for when a table is
    created, and not before.
    """

    def __init__(self, workspace: Workspace, source: str, filters: DiscoverFilters, found: DiscoverReport) -> None:
        self._workspace = workspace
        self._source = source
        self._filters = filters
        self._found = found

    def of_report(self, report: str) -> tuple[Delivery, ...]:
        """The deliveries of one report, each with its columns."""
        return tuple(delivery for delivery in self._all if delivery.slice.report == report)

    @cached_property
    def _all(self) -> tuple[Delivery, ...]:
        with ThreadPoolExecutor(self._workspace.settings.copies_at_once) as readers:
            return tuple(readers.map(self._with_columns, self._of_all_periods()))

    def _of_all_periods(self) -> tuple[Delivery, ...]:
        every = replace(self._filters, period=None, since=None)
        if every == self._filters:
            return self._found.deliveries
        try:
            return find_deliveries(
                self._source, self._workspace.storage, every, self._workspace.settings.limits
            ).deliveries
        except ConfigError:
            # Files without a manifest, of which only the user says the period.
            return self._found.deliveries

    def _with_columns(self, delivery: Delivery) -> Delivery:
        try:
            return with_columns(delivery, self._workspace.storage, self._workspace.settings.limits)
        except LakebedError:
            # It answers for itself when it is loaded; until then what its manifest lists is known.
            return delivery


def rediscover(workspace: Workspace, ledger: Ledger, source: str, delivery: Delivery) -> Delivery:
    """The delivery that counts for the same payer, report and period now."""
    slice_ = delivery.slice
    filters = DiscoverFilters(report=slice_.report, payer=slice_.payer, period=slice_.period)
    for newer in find_deliveries(source, workspace.storage, filters, workspace.settings.limits).deliveries:
        if newer.slice == slice_:
            ledger.record_discovered([newer], source=source)
            return newer
    raise SourceError(f"{slice_} has gone from {source} while it was read", remedy="Run again.")
