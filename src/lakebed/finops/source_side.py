"""A delivery that is not loaded, converted by the plan that its load would have, into files that are thrown away."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lakebed.engines.protocols.load import ConvertJob, CountJob, Engine
from lakebed.errors import ConfigError, SourceError
from lakebed.model import DELIVERY, Delivery, GroupKey, ScanFile, Staging, Totals
from lakebed.pipeline.commit import with_later_columns
from lakebed.pipeline.discover import discover_to_load
from lakebed.pipeline.plan import LoadPlan, plan_delivery, required_originals
from lakebed.pipeline.progress import Observer
from lakebed.schema.arrow import to_arrow_schema
from lakebed.schema.types import Schema
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.state.ledger import Ledger
from lakebed.storage import is_local, join, local_path
from lakebed.targets.base import TableState, Target
from lakebed.targets.load_log import LoadLog
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class SourceSide:
    """A delivery of a source as the table would have it: its rows in files, in the schema that its load would leave."""

    source: str
    delivery: Delivery
    schema: Schema
    files: tuple[ScanFile, ...]
    warnings: tuple[str, ...] = ()

    def count(self, columns: Sequence[str], currency: str | None, by: tuple[GroupKey, ...], engine: Engine) -> Totals:
        """Rows and exact sums, as those of a table are counted."""
        wanted = (*columns, *([currency] if currency else ()), *(name for key in by for name, _ in key.sources))
        chosen = Schema.of(self.schema[name] for name in dict.fromkeys(wanted))
        job = CountJob(self.files, to_arrow_schema(chosen), tuple(columns), currency, {}, by)
        return engine.count(job)


def looks_like_source(text: str, log: LoadLog) -> bool:
    """Whether a delivery of a source is meant, and not one that the table knows."""
    if any(load.delivery == text for load in log.loads):
        return False
    return "/" in text or "://" in text or os.path.exists(text)


@contextmanager
def convert_source(
    workspace: Workspace,
    ledger: Ledger,
    target: Target,
    source: str,
    filters: DiscoverFilters,
    engine: Engine,
    folder: str,
) -> Iterator[SourceSide]:
    """The delivery of a source that a load would take. Its files are in the folder until the block ends."""
    delivery = _find(workspace, source, filters)
    settings, state = workspace.settings, target.state()
    typed = with_columns(delivery, workspace.storage, settings.limits, allow_missing=settings.allow_missing)
    try:
        yield with_later_columns(
            typed, lambda planned: _convert(workspace, ledger, target, state, planned, engine, folder, source)
        )
    finally:
        _remove(workspace, folder)


def _find(workspace: Workspace, source: str, filters: DiscoverFilters) -> Delivery:
    found = discover_to_load(workspace, source, filters, Observer()).deliveries
    if not found:
        raise SourceError(
            f"{source} has no delivery of {filters.period}",
            remedy="`lakebed discover` lists the deliveries of a source.",
        )
    if len(found) > 1:
        raise ConfigError(
            f"{source} has {len(found)} bills of {filters.period}: {', '.join(str(one.slice) for one in found)}",
            remedy="Choose one with --report and --payer.",
        )
    return found[0]


def _convert(
    workspace: Workspace,
    ledger: Ledger,
    target: Target,
    state: TableState,
    delivery: Delivery,
    engine: Engine,
    folder: str,
    source: str,
) -> SourceSide:
    settings = workspace.settings
    plan: LoadPlan = plan_delivery(
        delivery, target, state.schema if state.exists else None, known=(), ledger=ledger, settings=settings
    )
    if is_local(folder):
        local_path(folder).mkdir(parents=True, exist_ok=True)
    converted = engine.convert(
        ConvertJob(
            files=delivery.files,
            columns=plan.columns,
            constants={**delivery.slice.values, DELIVERY: delivery.id},
            staging=Staging("diff", folder, to_arrow_schema(plan.evolution.final)),
            partition={},
            on_bad_value=settings.on_bad_value,
            currency_column=plan.currency_column,
            required=required_originals(delivery, plan.columns, settings.allow_missing),
            limits=settings.limits,
        )
    )
    files = tuple(ScanFile(join(folder, file.path)) for file in converted.files)
    warnings = converted.warnings
    if delivery.missing:
        warnings = (*warnings, f"{len(delivery.missing)} of its files are missing: {', '.join(delivery.missing_names)}")
    if converted.rejected_rows:
        warnings = (*warnings, f"{converted.rejected_rows} rows would be set aside, and are not counted")
    return SourceSide(source, delivery, plan.evolution.final, files, warnings)


def _remove(workspace: Workspace, folder: str) -> None:
    if is_local(folder):
        shutil.rmtree(local_path(folder), ignore_errors=True)
    else:
        workspace.storage.delete(entry.uri for entry in workspace.storage.list(folder))
