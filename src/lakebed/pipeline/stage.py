"""`lakebed stage`: copies the files of deliveries to where the load reads them, and writes that down."""

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Unpack

from lakebed.errors import Changed
from lakebed.model import Delivery
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.discover import discover_to_load
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.source.stage import CopyAll, is_unchanged, remove_copies, remove_old_copies, stage_files
from lakebed.state.ledger import Ledger
from lakebed.targets.address import Address
from lakebed.workspace import Workspace


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


def stage(
    source: str | os.PathLike[str],
    *,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    observer: Observer | None = None,
    **settings: Unpack[RunSettings],
) -> StageReport:
    """Copies the files of every delivery that counts to the staging folder. What is there already stays.

    >>> _ = lakebed.sample("bills", months=2, rows=10, restate=False)
    >>> [one.slice.period for one in lakebed.stage("bills", period="2026-10").deliveries]
    ['2026-10']
    """
    workspace = open_workspace(workdir, settings)
    place, watch = os.fspath(source), observer or Observer()
    found = discover_to_load(workspace, place, DiscoverFilters(report, payer, period, since, until), watch)
    with workspace.ledger() as ledger:
        ledger.record_discovered(found.deliveries, superseded=found.superseded, source=place)
        staged = tuple(stage_delivery(workspace, ledger, delivery, watch) for delivery in found.deliveries)
    return StageReport(workspace.settings.staging_location, staged)


def stage_delivery(
    workspace: Workspace, ledger: Ledger, delivery: Delivery, observer: Observer, copy_all: CopyAll | None = None
) -> Delivery:
    """The delivery with its files in staging. Raises Changed where it was written over meanwhile."""
    settings = workspace.settings
    observer.staging(delivery)
    with ledger.claim_staging(delivery.slice, delivery.id):
        ledger.set_state(delivery.slice, delivery.id, "staging")
        staged = stage_files(
            delivery,
            workspace.storage,
            settings.staging_location,
            parallel=settings.copies_at_once,
            progress=lambda _, size_bytes: observer.copied(size_bytes),
            copy_all=copy_all,
        )
        if delivery.overwritten_in_place and not is_unchanged(delivery, workspace.storage):
            raise Changed(f"{delivery.slice} was written over while it was copied", uri=delivery.manifest or "")
        ledger.record_staged(delivery.slice, delivery.id, staged.copies)
    return staged.delivery


def prepare_files(context: RunContext, delivery: Delivery, address: Address) -> Delivery:
    """The delivery with its columns known and its files where the workers reach them.

    A table that lies where they do not reach is refused before anything is copied.
    """
    for place in context.target(address).write_places():
        context.require_shared(place)
    if context.settings.no_stage:
        for file in delivery.files:
            context.require_shared(file.uri)
        return _with_columns(context, delivery)
    context.require_shared(context.settings.staging_location)
    staged = stage_delivery(context.workspace, context.ledger, delivery, context.observer, context.copy_all(delivery))
    return _with_columns(context, staged)


def _with_columns(context: RunContext, delivery: Delivery) -> Delivery:
    settings = context.settings
    return with_columns(delivery, context.storage, settings.limits, allow_missing=settings.allow_missing)


def remove_unneeded_copies(workspace: Workspace, ledger: Ledger, loaded: Delivery) -> None:
    """Removes the copies of loaded deliveries after the time that the user set. Those that wait to be loaded stay."""
    settings = workspace.settings
    kept_for = timedelta(hours=settings.staging.retention_hours)
    if settings.no_stage:
        return
    if not kept_for:
        remove_copies(loaded, workspace.storage, settings.staging_location)
        ledger.forget_staged(loaded.slice, loaded.id)
    waiting = [(one.slice, one.delivery) for one in ledger.deliveries() if one.state not in ("loaded", "superseded")]
    remove_old_copies(settings.staging_location, workspace.storage, older_than=kept_for, keep=waiting)
