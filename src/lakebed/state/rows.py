"""Between the rows of the ledger's tables and its records: the only place that knows both."""

from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import Row

from lakebed.model import Delivery, Slice, StagedFile
from lakebed.state.records import (
    DeliveryRecord,
    FileRecord,
    IdentityRecord,
    LoadOutcome,
    LoadRecord,
    SchemaChange,
    SchemaChangeRecord,
    StagingFolder,
    SumRecord,
)

_Row = Row[tuple[object, ...]]


def of_delivery(delivery: Delivery) -> dict[str, object]:
    return {
        "kind": delivery.kind,
        "manifest": delivery.manifest,
        "manifest_etag": delivery.manifest_etag,
        "files": len(delivery.files),
        "size_bytes": delivery.size_bytes,
        "missing": list(delivery.missing),
        "created_at": delivery.created_at,
        "file_uris": [file.uri for file in delivery.files] if delivery.kind == "plain" else None,
    }


def delivery(row: _Row) -> DeliveryRecord:
    return DeliveryRecord(
        slice=_slice(row),
        delivery=row.delivery,
        source=row.source,
        kind=row.kind,
        manifest=row.manifest,
        manifest_etag=row.manifest_etag,
        files=row.files,
        size_bytes=row.size_bytes,
        missing=tuple(row.missing),
        created_at=row.created_at,
        state=row.state,
        error=row.error,
        discovered_at=row.discovered_at,
        updated_at=row.updated_at,
        file_uris=None if row.file_uris is None else tuple(row.file_uris),
    )


def of_file(file: FileRecord) -> dict[str, object]:
    return {
        "sha256": file.sha256,
        "size_bytes": file.size_bytes,
        "etag": file.etag,
        "rows_loaded": file.rows,
        "state": file.state,
        "at": datetime.now(UTC),
    }


def file_record(row: _Row) -> FileRecord:
    return FileRecord(
        path=row.path,
        identity=row.identity,
        sha256=row.sha256,
        size_bytes=row.size_bytes,
        etag=row.etag,
        rows=row.rows_loaded,
        state=row.state,
    )


def of_staged_file(file: StagedFile) -> dict[str, object]:
    return {
        "key": file.key,
        "uri": file.uri,
        "size_bytes": file.size_bytes,
        "sha256": file.sha256,
        "etag": file.etag,
    }


def of_new_load() -> dict[str, object]:
    return {
        "state": "loading",
        "error": None,
        "rows_loaded": 0,
        "files": 0,
        "seconds": 0.0,
        "added_columns": [],
        "complete": True,
        "reconciled": None,
        "source_rows": None,
        "rejected_rows": 0,
        "plan_hash": None,
        "table_version": None,
        "started_at": datetime.now(UTC),
        "finished_at": None,
    }


def of_outcome(outcome: LoadOutcome) -> dict[str, object]:
    added = [change.column for change in outcome.schema_changes if change.kind in ("created", "added", "variant")]
    return {
        "state": "loaded",
        "error": None,
        "rows_loaded": outcome.rows,
        "files": outcome.files,
        "seconds": outcome.seconds,
        "added_columns": added,
        "complete": outcome.complete,
        "reconciled": outcome.reconciled,
        "source_rows": outcome.source_rows,
        "rejected_rows": outcome.rejected_rows,
        "plan_hash": outcome.plan_hash,
        "table_version": outcome.version,
        "finished_at": datetime.now(UTC),
    }


def of_rebuilt_load(version: str) -> dict[str, object]:
    now = datetime.now(UTC)
    return of_new_load() | {"table_version": version, "started_at": now, "finished_at": now}


def load(row: _Row) -> LoadRecord:
    return LoadRecord(
        table=row.table_address,
        slice=_slice(row),
        delivery=row.delivery,
        state=row.state,
        error=row.error,
        rows=row.rows_loaded,
        files=row.files,
        seconds=row.seconds,
        added_columns=tuple(row.added_columns),
        complete=row.complete,
        reconciled=row.reconciled,
        source_rows=row.source_rows,
        rejected_rows=row.rejected_rows,
        plan_hash=row.plan_hash,
        version=row.table_version,
        started_at=row.started_at,
        finished_at=row.finished_at,
    )


# Lines without a currency have a sum of their own; an empty key is the sum over all.
_NO_CURRENCY = "-"


def of_sum(one: SumRecord) -> dict[str, object]:
    return {
        "column_name": one.column,
        "currency": "" if one.currency is None else one.currency or _NO_CURRENCY,
        "source_sum": format(one.source, "f"),
        "table_sum": format(one.table, "f"),
        "rounded": format(one.rounded, "f"),
        "at": datetime.now(UTC),
    }


def sum_record(row: _Row) -> SumRecord:
    return SumRecord(
        column=row.column_name,
        currency="" if row.currency == _NO_CURRENCY else row.currency or None,
        source=Decimal(row.source_sum),
        table=Decimal(row.table_sum),
        rounded=Decimal(row.rounded),
    )


def identity(row: _Row) -> IdentityRecord:
    return IdentityRecord(original=row.original, name=row.name, delivery=row.delivery, decided_at=row.decided_at)


def of_schema_change(change: SchemaChange) -> dict[str, object]:
    return {
        "kind": change.kind,
        "column_name": change.column,
        "type_before": change.type_before,
        "type_after": change.type_after,
        "original": change.original,
    }


def schema_change(row: _Row) -> SchemaChangeRecord:
    return SchemaChangeRecord(
        change=SchemaChange(
            kind=row.kind,
            column=row.column_name,
            type_after=row.type_after,
            type_before=row.type_before,
            original=row.original,
        ),
        table=row.table_address,
        slice=_slice(row) if row.period is not None else None,
        delivery=row.delivery,
        version=row.table_version,
        at=row.at,
    )


def staging_folder(row: _Row) -> StagingFolder:
    return StagingFolder(folder=row.folder, table=row.table_address, opened_at=row.opened_at)


def _slice(row: _Row) -> Slice:
    return Slice(payer=row.payer, report=row.report, period=row.period)
