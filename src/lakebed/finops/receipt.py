"""`lakebed receipt`: a total with everything that it rests on, so that anybody can compute it again."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from lakebed.errors import LineageError, SchemaError, SourceError, StateError, TargetError
from lakebed.finops.determined import parse_determined, used_columns
from lakebed.finops.receipt_check import FORMAT, answer, checksum, fingerprint
from lakebed.finops.receipt_page import to_html
from lakebed.lineage import analyze
from lakebed.model import PERIOD, RESERVED_COLUMNS, Delivery
from lakebed.pipeline.discover import discover_to_load
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reconcile import reconcile
from lakebed.schema.duckdb import quote_literal, to_duckdb
from lakebed.schema.identity import Identities
from lakebed.schema.types import Schema, fold
from lakebed.source.filters import DiscoverFilters
from lakebed.source.header import with_columns
from lakebed.state.ledger import Ledger
from lakebed.storage import is_local, local_path
from lakebed.table.as_of import HeldRows, TableLoads
from lakebed.table.read import read
from lakebed.targets.address import Address
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class Receipt:
    """A result and what it rests on: as JSON (`to_dict`, `to_json`) and as a page to print (`to_html`)."""

    facts: Mapping[str, Any]

    @property
    def rows(self) -> tuple[tuple[str | None, ...], ...]:
        """The rows of the result, every value as text with all its digits."""
        return tuple(tuple(row) for row in self.facts["result"]["rows"])

    def to_dict(self) -> dict[str, object]:
        return dict(self.facts)

    def to_json(self) -> str:
        """The receipt as `verify_receipt` reads it."""
        return json.dumps(self.facts, ensure_ascii=False, indent=2) + "\n"

    def to_html(self) -> str:
        """The receipt as a page that needs nothing else, runs nothing, and can be printed."""
        return to_html(self.facts)


def receipt(
    sql: str,
    target: str | os.PathLike[str],
    *,
    period: str | Sequence[str] | None = None,
    workdir: str | os.PathLike[str] | None = None,
) -> Receipt:
    """Runs a query over a loaded table and says what its result rests on: deliveries, files, checksums, columns.

    The query is one SELECT in DuckDB's SQL over the table by its name; `period` leaves only the rows of some months,
    and then only their deliveries count. Raises LineageError for a query whose result is not determined, and where a
    delivery does not add up or its files are not there.

    >>> made = lakebed.receipt(  # doctest: +SKIP
    ...     "SELECT sum(line_item_unblended_cost) FROM report", "duckdb:costs.duckdb#report", period="2026-09"
    ... )
    >>> made.rows  # doctest: +SKIP
    (('1234.567890120000000000',),)
    """
    address = Address.parse(os.fspath(target), bare_path=True)
    name = address.table or os.path.basename(address.place.rstrip("/"))
    query = parse_determined(sql, name)
    workspace = Workspace.open({"workdir": None if workdir is None else os.fspath(workdir)})
    opened = workspace.target(address, read_only=True)
    periods = None if period is None else frozenset([period] if isinstance(period, str) else period)
    with workspace.ledger_for_reading() as ledger:
        loads = TableLoads.of(opened, ledger)
        held = [one for one in loads.now() if periods is None or one.load.slice.period in periods]
        state = opened.state()
        if PERIOD not in state.schema:
            raise TargetError(
                f"{opened.address} has no loaded bill: it lacks the column {PERIOD}",
                remedy="A receipt says which deliveries a total rests on: load them with `lakebed run`.",
            )
        used = _columns(used_columns(query), state.schema)
        result = _ask(opened.address, sql, name, used, periods, workdir)
        known = Identities.from_schema(
            state.schema, aliases={one.original: one.name for one in ledger.identities(opened.address)}
        )
        deliveries = [_delivery(workspace, ledger, one, used, known) for one in held]
    facts: dict[str, Any] = {
        "receipt": FORMAT,
        "sql": sql,
        "dialect": "duckdb",
        "table": opened.address,
        "tableName": name,
        "version": state.version,
        "periods": None if periods is None else sorted(periods),
        "result": result,
        "deliveries": deliveries,
        "reconciliation": _reconciled(opened.address, held, workspace),
        "lineage": _lineage(sql, name, state.schema),
    }
    return Receipt({**facts, "sha256": fingerprint(facts)})


def _columns(used: frozenset[str] | None, schema: Schema) -> Schema:
    chosen = [column for column in schema if used is None or fold(column.name) in used]
    # The period tells months apart, and gives rows to count where the query uses no column.
    return Schema.of({fold(column.name): column for column in (*chosen, schema[PERIOD])}.values())


def _ask(
    address: str,
    sql: str,
    name: str,
    used: Schema,
    periods: frozenset[str] | None,
    workdir: str | os.PathLike[str] | None,
) -> dict[str, Any]:
    condition = None if periods is None else " OR ".join(f"{PERIOD} = {quote_literal(one)}" for one in sorted(periods))
    rows = read(address, columns=used.names, where=condition, workdir=workdir)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register(name, rows)
        columns, found = answer(connection, sql)
    return {
        "columns": [{"name": column, "type": type_} for column, type_ in columns],
        "rows": [list(row) for row in found],
    }


def _delivery(workspace: Workspace, ledger: Ledger, held: HeldRows, used: Schema, known: Identities) -> dict[str, Any]:
    slice_, id_ = held.load.slice, str(held.load.delivery)
    record = ledger.delivery(slice_, id_)
    if record is None:
        raise StateError(
            f"the ledger does not know where delivery {id_} of {slice_} came from",
            remedy="Make the receipt in the work directory that loaded it, or load it again with --reload.",
        )
    found = discover_to_load(
        workspace, record.source, DiscoverFilters(slice_.report, slice_.payer, slice_.period), Observer()
    )
    delivery = next((one for one in (*found.deliveries, *found.superseded) if one.id == id_), None)
    if delivery is None or delivery.missing or not delivery.files:
        raise SourceError(
            f"the files of delivery {id_} of {slice_} are not in {record.source} any more",
            remedy="A receipt names files that anybody can read again: restore them, or leave that month out.",
        )
    settings = workspace.settings
    typed = with_columns(delivery, workspace.storage, settings.limits, allow_missing=settings.allow_missing)
    names = {
        column.original: used[name]
        for column in typed.columns
        if (name := known.by_original.get(column.original, column.original)) in used
    }
    constants = {**slice_.values, "lakebed_delivery": id_}
    return {
        "delivery": id_,
        "payer": slice_.payer,
        "report": slice_.report,
        "period": slice_.period,
        "loadedAt": None if held.load.at is None else held.load.at.isoformat(),
        "manifest": delivery.manifest,
        "rows": held.load.rows,
        "files": [_file(workspace, delivery, place) for place in range(len(delivery.files))],
        "columns": [
            {"original": original, "name": column.name, "type": to_duckdb(column.type, column=column.name)}
            for original, column in names.items()
            if fold(column.name) not in RESERVED_COLUMNS
        ],
        "constants": {name: value for name, value in constants.items() if name in used},
    }


def _file(workspace: Workspace, delivery: Delivery, place: int) -> dict[str, Any]:
    file = delivery.files[place]
    if file.content == "json":
        raise SourceError(f"{file.uri} is JSON, of which no receipt is made")
    if is_local(file.uri):
        sha256 = checksum(local_path(file.uri))
    else:
        with tempfile.TemporaryDirectory(prefix="lakebed-receipt-") as folder:
            sha256 = workspace.storage.copy(file.uri, str(Path(folder) / "file")).sha256
    return {
        "uri": file.uri,
        "sizeBytes": file.size_bytes,
        "sha256": sha256,
        "content": file.content,
        "compression": file.compression,
    }


def _reconciled(address: str, held: Sequence[HeldRows], workspace: Workspace) -> list[dict[str, object]]:
    """What each load found in its files against the table now. Raises where one does not add up."""
    report = reconcile(address, workdir=workspace.settings.workdir)
    wanted = {(one.load.slice, one.load.delivery) for one in held}
    done = [one for one in report.loads if (one.slice, one.delivery) in wanted]
    for one in done:
        numbers = one.reconciliation
        if not one.holds or (numbers is not None and numbers.rejected_rows):
            raise StateError(
                f"delivery {one.delivery} of {one.slice} does not add up, or is not whole: no receipt is made for it",
                remedy="`lakebed reconcile` says what differs; `lakebed run --reload` loads the month again.",
            )
    plain: list[dict[str, object]] = json.loads(json.dumps([one.to_dict() for one in done], default=str))
    return plain


def _lineage(sql: str, name: str, schema: Schema) -> list[dict[str, object]]:
    """Each column of the result back to the columns of the source, by their original names."""
    columns = [{"name": column.name, "dataType": str(column.type)} for column in schema]
    result = analyze(sql, dialect="duckdb", schema={"tables": [{"name": name, "columns": columns}]})
    if errors := [issue for issue in result.issues if issue.severity == "error"]:
        raise LineageError(f"the query cannot be traced: {errors[0].message}")
    found: dict[str, dict[str, dict[str, object]]] = {}
    for statement in result.statements:
        for edge in statement.column_lineage:
            column = schema.get(edge.source_column)
            if column is None:
                raise SchemaError(f"{name} has no column {edge.source_column}")
            output = edge.target_column or "(filter)"
            found.setdefault(output, {})[column.name] = {
                "column": column.name,
                "original": column.original or column.name,
                "role": edge.role,
            }
    return [{"output": output, "from": list(sources.values())} for output, sources in found.items()]
