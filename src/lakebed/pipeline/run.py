"""The pipeline: discover, stage, load, reconcile. Each step takes the previous one's value and returns the next."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed.errors import SourceError, TargetError
from lakebed.model import Delivery, Slice
from lakebed.pipeline.plan import Planner, PlanReport
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import DeliveryReport, RunReport, TableReport
from lakebed.pipeline.running import Run, remember
from lakebed.pipeline.stage import stage_delivery
from lakebed.pipeline.tables import ReportKey, choose_tables
from lakebed.source.discover import Discovered, DiscoverFilters, discover
from lakebed.targets.address import Address
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILTERS = ("report", "payer", "period", "since")


def run(
    source: str,
    target: str,
    *,
    table: str | None = None,
    workdir: str | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    **settings: object,
) -> RunReport:
    """Loads every delivery of a source that is not loaded yet, the newest period first, and reconciles each.

    `settings` are those of `lakebed.toml` by their last word (`decimals="18,2"`, `strict=True`, `master="local[4]"`),
    and the filters `report`, `payer`, `period`, `since`. A delivery that fails leaves its slice as it was and is
    reported; the others go on. Running again loads what failed and nothing else.
    """
    started = time.monotonic()
    filters, flags = split_filters(settings)
    workspace = Workspace.open({"workdir": workdir, **flags})
    watch = observer or Observer()
    found = find(workspace, source, filters, watch)
    tables = choose_tables(Address.parse(target), (delivery.slice for delivery in found.deliveries), table=table)
    with workspace.ledger() as ledger, Run(workspace, ledger, source, watch, spark) as loading:
        remember(ledger, found, source)
        reports = tuple(
            loading.take(delivery, tables[ReportKey.of(delivery.slice)], found) for delivery in found.deliveries
        )
        return RunReport(
            tables=tuple(_describe(loading, dict.fromkeys(tables.values()), reports)),
            deliveries=reports,
            warnings=warnings_of(found),
            seconds=round(time.monotonic() - started, 3),
        )


def _describe(
    loading: Run, addresses: Collection[Address], reports: Collection[DeliveryReport]
) -> Iterator[TableReport]:
    """The tables as the run leaves them. One that cannot be read is left out if its deliveries say so already."""
    for address in addresses:
        try:
            yield loading.describe(address)
        except TargetError:
            if not any(report.error for report in reports):
                raise


def plan(
    source: str, target: str, *, table: str | None = None, workdir: str | None = None, **settings: object
) -> PlanReport:
    """What `run` would do: what would be loaded, replaced, added and widened. Touches nothing, the ledger included."""
    filters, flags = split_filters(settings)
    workspace = Workspace.open({"workdir": workdir, **flags})
    found = find(workspace, source, filters, Observer())
    tables = choose_tables(Address.parse(target), (delivery.slice for delivery in found.deliveries), table=table)
    with workspace.ledger_for_reading() as ledger:
        planner = Planner(workspace, ledger, found.deliveries)
        planned = tuple(planner.plan(delivery, tables[ReportKey.of(delivery.slice)]) for delivery in found.deliveries)
        return PlanReport(planned, warnings=warnings_of(found))


def load_known(
    target: str,
    *,
    table: str | None = None,
    workdir: str | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    **settings: object,
) -> RunReport:
    """Loads what `discover` and `stage` have left in the ledger, from the sources that it remembers."""
    filters, flags = split_filters(settings)
    workspace = Workspace.open({"workdir": workdir, **flags})
    with workspace.ledger_for_reading() as ledger:
        waiting = [
            one for one in ledger.deliveries() if one.state not in ("loaded", "superseded") and filters.wants(one.slice)
        ]
    if not waiting:
        raise SourceError(
            "the ledger knows no delivery that waits to be loaded",
            remedy="`lakebed discover SOURCE` or `lakebed stage SOURCE` finds some; `lakebed run` does it all.",
        )
    by_source: dict[str, list[Slice]] = {}
    for one in waiting:
        by_source.setdefault(one.source, []).append(one.slice)
    done = [
        run(
            source,
            target,
            table=table,
            workdir=workdir,
            spark=spark,
            observer=observer,
            **{**settings, **what_they_share(slices)},
        )
        for source, slices in by_source.items()
    ]
    return RunReport(
        tables=tuple({one.address: one for report in done for one in report.tables}.values()),
        deliveries=tuple(one for report in done for one in report.deliveries),
        warnings=tuple(warning for report in done for warning in report.warnings),
        seconds=sum(report.seconds for report in done),
    )


def what_they_share(slices: Collection[Slice]) -> dict[str, str]:
    """The report, payer and period that all these have: of files without a manifest nothing else says what they are."""
    values = {
        "report": {slice_.report for slice_ in slices},
        "payer": {slice_.payer for slice_ in slices},
        "period": {slice_.period for slice_ in slices},
    }
    return {name: found.pop() for name, found in values.items() if len(found) == 1}


@dataclass(frozen=True)
class StageReport:
    """The deliveries whose files are within reach of the workers now."""

    folder: str
    deliveries: tuple[Delivery, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "folder": self.folder,
            "deliveries": [
                {
                    "payer": one.slice.payer,
                    "report": one.slice.report,
                    "period": one.slice.period,
                    "delivery": one.id,
                    "state": "staged",
                    "complete": one.complete,
                    "files": [file.uri for file in one.files],
                    "size_bytes": one.size_bytes,
                }
                for one in self.deliveries
            ],
        }


def stage_source(
    source: str, *, workdir: str | None = None, observer: Observer | None = None, **settings: object
) -> StageReport:
    """Copies the files of every delivery that counts to the staging folder, and writes that down."""
    filters, flags = split_filters(settings)
    workspace = Workspace.open({"workdir": workdir, **flags})
    watch = observer or Observer()
    found = find(workspace, source, filters, watch)
    with workspace.ledger() as ledger:
        remember(ledger, found, source)
        staged = tuple(stage_delivery(workspace, ledger, delivery, watch) for delivery in found.deliveries)
    return StageReport(workspace.settings.staging_location, staged)


def split_filters(settings: Mapping[str, object]) -> tuple[DiscoverFilters, dict[str, object]]:
    """The filters among the keywords, and the rest, which are settings."""
    chosen = {name: str(settings[name]) for name in _FILTERS if settings.get(name) is not None}
    return DiscoverFilters(**chosen), {name: value for name, value in settings.items() if name not in _FILTERS}


def find(workspace: Workspace, source: str, filters: DiscoverFilters, observer: Observer) -> Discovered:
    """Discovery with its warnings said, and refused where there is nothing to load."""
    found = discover(source, workspace.storage, filters)
    for warning in warnings_of(found):
        observer.warned(warning)
    if not found.deliveries:
        reason = next(iter(warnings_of(found)), f"no delivery found under {source}")
        raise SourceError(reason, remedy="`lakebed discover SOURCE` shows what there is and what was left out.")
    if workspace.settings.strict and found.doubts:
        raise SourceError(
            f"--strict refuses a source of which there are doubts: {found.doubts[0]}"
            + (f" (and {len(found.doubts) - 1} more)" if len(found.doubts) > 1 else ""),
            remedy="`lakebed discover SOURCE` shows them all; without --strict they are warnings.",
        )
    observer.discovered(len(found.deliveries), len(found.superseded))
    return found


def warnings_of(found: Discovered) -> tuple[str, ...]:
    """Everything that discovery has to say aloud; what is wrong with one file first, since it explains the rest."""
    return (*(f"{skipped.uri}: {skipped.reason}" for skipped in found.skipped), *found.warnings)
