"""Staging with its memory: copies a delivery's files, writes that down, and removes what nobody needs any more."""

from datetime import timedelta

from lakebed.errors import Changed
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.source.stage import StagedFile, recheck, remove_staged, stage, sweep_staged
from lakebed.state.ledger import Ledger
from lakebed.state.records import StagedFile as StagedRecord
from lakebed.workspace import Workspace


def stage_delivery(workspace: Workspace, ledger: Ledger, delivery: Delivery, observer: Observer) -> Delivery:
    """The delivery with its files in staging. Raises Changed where it was written over meanwhile."""
    settings = workspace.settings
    observer.staging(delivery)
    copies: list[StagedFile] = []
    with ledger.claim_staging(delivery.slice, delivery.id):
        ledger.set_state(delivery.slice, delivery.id, "staging")
        staged = stage(
            delivery,
            workspace.storage,
            settings.staging_location,
            parallel=settings.copies_at_once,
            progress=lambda _, size_bytes: observer.copied(size_bytes),
            on_file=copies.append,
        )
        if delivery.overwritten_in_place and not recheck(delivery, workspace.storage):
            raise Changed(f"{delivery.slice} was written over while it was copied", uri=delivery.manifest or "")
        ledger.staged(delivery.slice, delivery.id, map(_record, copies))
    return staged


def tidy_staging(workspace: Workspace, ledger: Ledger, loaded: Delivery) -> None:
    """Removes the copies of loaded deliveries after the time that the user set. Those that wait to be loaded stay."""
    settings = workspace.settings
    kept_for = timedelta(hours=settings.staging.retention_hours)
    if settings.no_stage:
        return
    if not kept_for:
        remove_staged(loaded, workspace.storage, settings.staging_location)
        ledger.unstaged(loaded.slice, loaded.id)
    waiting = [(one.slice, one.delivery) for one in ledger.deliveries() if one.state not in ("loaded", "superseded")]
    sweep_staged(settings.staging_location, workspace.storage, older_than=kept_for, keep=waiting)


def _record(copy: StagedFile) -> StagedRecord:
    return StagedRecord(
        key=copy.source.key,
        uri=copy.file.uri,
        size_bytes=copy.file.size_bytes,
        sha256=copy.sha256,
        etag=copy.source.etag,
    )
