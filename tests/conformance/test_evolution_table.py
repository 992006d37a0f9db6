"""Kinds of change x targets: what a merge makes of each, tried here and written down in `docs/evolution.md`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support import ROOT

from lakebed.config import OnConflict
from lakebed.errors import DatasetMergeError
from lakebed.merge_core.result import MergeResult
from lakebed.schema.types import Schema
from lakebed.table.merge import merge
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Target

PAGE = ROOT / "docs" / "evolution.md"
# With this in the environment what was seen is written into the page instead of being compared with it.
WRITES = "LAKEBED_WRITE_EVOLUTION"
TARGETS = {"Parquet": "parquet:{}/t", "DuckDB": "duckdb:{}/t.duckdb#t", "Iceberg": "iceberg:n.t"}
PEERS = ("Delta", "dlt", "dbt-duckdb", "Spark's Iceberg")
NOT_TOLD = "·"


@dataclass(frozen=True)
class Kind:
    """A column `x` of the table, and `x` (or another name) in new data for the same key; None is no such column.

    `peers` is what others do of themselves, as their documentation says or as it was tried.
    """

    name: str
    table: pa.Array | None
    source: pa.Array | None
    column: str = "x"
    peers: Mapping[str, str] = field(default_factory=dict)


def one(value: object, kind: pa.DataType) -> pa.Array:
    return pa.array([value], kind)


def peers(delta: str = NOT_TOLD, dlt: str = NOT_TOLD, dbt: str = NOT_TOLD, iceberg: str = NOT_TOLD) -> dict[str, str]:
    return dict(zip(PEERS, (delta, dlt, dbt, iceberg), strict=True))


A, AB = pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int64()), ("b", pa.string())])
D, M = pa.struct([("a", pa.date32())]), pa.struct([("a", pa.timestamp("us"))])
DAY, MOMENT = date(2026, 10, 1), datetime(2026, 10, 1, 12)
REFUSED, VARIANT = "refused", "variant column"
KINDS = (
    Kind("a new column", None, one("n", pa.string()), peers=peers("added", "added", "added", "added")),
    Kind("a column that is gone", one("o", pa.string()), None, peers=peers("kept", "kept", "kept", "kept")),
    Kind(
        "a name in another case",
        one("o", pa.string()),
        one("n", pa.string()),
        "X",
        peers=peers(dbt="an error"),
    ),
    Kind("a new column that holds nothing", None, one(None, pa.null())),
    Kind("a column that holds nothing any more", one(7, pa.int64()), one(None, pa.null())),
    Kind(
        "int32 to int64",
        one(7, pa.int32()),
        one(2**40, pa.int64()),
        peers=peers("widens", dbt="an error", iceberg="widens"),
    ),
    Kind("int64 to int32", one(2**40, pa.int64()), one(7, pa.int32())),
    Kind(
        "int32 to double",
        one(7, pa.int32()),
        one(1.5, pa.float64()),
        peers=peers("by ALTER only", iceberg=REFUSED),
    ),
    Kind(
        "int64 to double",
        one(2**60, pa.int64()),
        one(1.5, pa.float64()),
        peers=peers(REFUSED, iceberg=REFUSED),
    ),
    Kind(
        "int32 to decimal",
        one(7, pa.int32()),
        one(Decimal("1.50"), pa.decimal128(12, 2)),
        peers=peers("by ALTER only", iceberg=REFUSED),
    ),
    Kind(
        "int64 to decimal",
        one(2**60, pa.int64()),
        one(Decimal("1.50"), pa.decimal128(12, 2)),
        peers=peers("by ALTER only", iceberg=REFUSED),
    ),
    Kind("decimal to integer", one(Decimal("1.50"), pa.decimal128(38, 2)), one(7, pa.int32())),
    Kind("float to double", one(0.5, pa.float32()), one(0.1, pa.float64()), peers=peers("widens", iceberg="widens")),
    Kind(
        "decimal, more digits",
        one(Decimal("1.50"), pa.decimal128(9, 2)),
        one(Decimal("12345678901.25"), pa.decimal128(18, 2)),
        peers=peers("widens", iceberg="widens"),
    ),
    Kind(
        "decimal, more scale",
        one(Decimal("1.50"), pa.decimal128(9, 2)),
        one(Decimal("1.2345"), pa.decimal128(18, 4)),
        peers=peers("widens", dbt="rounds in silence", iceberg=REFUSED),
    ),
    Kind(
        "decimal, less scale",
        one(Decimal("1.2345"), pa.decimal128(18, 4)),
        one(Decimal("1.50"), pa.decimal128(9, 2)),
    ),
    Kind(
        "decimal, beyond 38 digits",
        one(Decimal("1.5"), pa.decimal128(38, 30)),
        one(Decimal("1.5"), pa.decimal128(38, 2)),
        peers=peers(REFUSED, iceberg=REFUSED),
    ),
    Kind(
        "decimal to double",
        one(Decimal("1.50"), pa.decimal128(9, 2)),
        one(1.5, pa.float64()),
        peers=peers(iceberg=REFUSED),
    ),
    Kind(
        "integer to text", one(7, pa.int64()), one("seven", pa.string()), peers=peers(REFUSED, VARIANT, iceberg=REFUSED)
    ),
    Kind("text to integer", one("seven", pa.string()), one(7, pa.int64()), peers=peers(iceberg=REFUSED)),
    Kind(
        "date to timestamp",
        one(DAY, pa.date32()),
        one(MOMENT, pa.timestamp("us")),
        peers=peers("widens", iceberg=REFUSED),
    ),
    Kind(
        "date to timestamp with a zone",
        one(DAY, pa.date32()),
        one(MOMENT, pa.timestamp("us", "UTC")),
        peers=peers(iceberg=REFUSED),
    ),
    Kind("timestamp to date", one(MOMENT, pa.timestamp("us")), one(DAY, pa.date32())),
    Kind("a date in a struct to timestamp", one({"a": DAY}, D), one({"a": MOMENT}, M), peers=peers(iceberg=REFUSED)),
    Kind(
        "timestamp, a finer unit",
        one(MOMENT, pa.timestamp("ms")),
        one(MOMENT, pa.timestamp("us")),
    ),
    Kind(
        "timestamp, a zone appears",
        one(MOMENT, pa.timestamp("us")),
        one(MOMENT, pa.timestamp("us", "UTC")),
        peers=peers(iceberg=REFUSED),
    ),
    Kind(
        "a struct gains a field",
        one({"a": 1}, A),
        one({"a": 2, "b": "n"}, AB),
        peers=peers("added", "a column of its own", "lost in silence", "added"),
    ),
    Kind(
        "a struct lacks a field",
        one({"a": 1, "b": "o"}, AB),
        one({"a": 2}, A),
    ),
    Kind("a struct becomes text", one({"a": 1}, A), one("n", pa.string()), peers=peers(REFUSED, iceberg=REFUSED)),
    Kind(
        "a list of wider elements",
        one([1], pa.list_(pa.int32())),
        one([2**40], pa.list_(pa.int64())),
        peers=peers("widens", iceberg="widens"),
    ),
    Kind(
        "a map of new values' fields",
        one([("k", {"a": 1})], pa.map_(pa.string(), A)),
        one([("k", {"a": 2, "b": "n"})], pa.map_(pa.string(), AB)),
    ),
)


def opened(target: str, folder: Path) -> Target:
    address = Address.parse(TARGETS[target].format(folder))
    return open_target(address, workdir=folder)


def side(values: pa.Array | None, column: str) -> pa.Table:
    columns = {"id": pa.array([1], pa.int64())}
    return pa.table(columns if values is None else {**columns, column: values})


def merged(target: Target, kind: Kind, on_conflict: OnConflict) -> MergeResult | DatasetMergeError:
    try:
        return merge(side(kind.source, kind.column), target, keys="id", engine="arrow", on_conflict=on_conflict)
    except DatasetMergeError as refused:
        return refused


def row_of(target: Target) -> dict[str, object]:
    """The row that new data came for."""
    return rows_of(target)[1]


def rows_of(target: Target) -> dict[object, dict[str, object]]:
    found = target.read()
    rows = (found if isinstance(found, pa.Table) else found.to_table()).to_pylist()
    return {row["id"]: row for row in rows}


def seen(target: Target, kind: Kind) -> str:
    """What a merge did, in a few words; and that no value was lost or changed on the way."""
    # The same row again under another key, for which nothing comes.
    both = [side(kind.table, "x"), side(kind.table, "x").set_column(0, "id", pa.array([2], pa.int64()))]
    merge(pa.concat_tables(both), target, keys="id", engine="arrow")
    before, old = target.state().schema, row_of(target).get("x")
    result = merged(target, kind, "refuse")
    if isinstance(result, DatasetMergeError):
        assert result.kind == "SCHEMA_INCOMPATIBLE"
        assert result.remedy
        assert target.state().schema == before
        assert row_of(target).get("x") == old
        took = merged(target, kind, "variant")
        assert isinstance(took, MergeResult)
        (variant,) = took.added_columns
        assert row_of(target) == {"id": 1, "x": None, variant: _plain(kind.source)}
        assert rows_of(target)[2] == {"id": 2, "x": old, variant: None}
        return f"refused, or variant `{variant}`"
    row = row_of(target)
    assert _covers(rows_of(target)[2].get("x"), old, old), "what was there stays what it is"
    if kind.source is None:
        assert row["x"] == old
        return "kept"
    if result.waiting_columns:
        assert "x" not in row
        return "waits for its type"
    assert _covers(row["x"], _plain(kind.source), old)
    return _described(before, target.state().schema, result)


def _described(before: Schema, after: Schema, result: MergeResult) -> str:
    if "x" not in before:
        return f"added as {after['x'].type}"
    if result.added_columns:
        return f"{', '.join(result.added_columns)} added"
    return f"stays {after['x'].type}" if before["x"].type == after["x"].type else f"widens to {after['x'].type}"


def _plain(values: pa.Array | None) -> object:
    return None if values is None else values.to_pylist()[0]


def _covers(found: object, new: object, old: object) -> bool:
    """The new value; in fields of a struct that the new data lacks, the old one."""
    if isinstance(found, dict) and isinstance(new, dict):
        before = old if isinstance(old, dict) else {}
        return all(_covers(found[name], new[name] if name in new else before.get(name), None) for name in found)
    if isinstance(found, dict | list | tuple) or isinstance(new, dict | list | tuple):
        return str(found) == str(new) or _without_new_fields(found) == _without_new_fields(new)
    if isinstance(found, datetime) and type(new) is date:
        return found == datetime(new.year, new.month, new.day)
    return found == new or str(found) == str(new)


def _without_new_fields(value: object) -> object:
    """A value without the fields that are NULL in it: those that its struct has gained."""
    if isinstance(value, dict):
        return {name: _without_new_fields(one) for name, one in value.items() if one is not None}
    return [_without_new_fields(one) for one in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_kind_of_change(tmp_path: Path, kind: Kind) -> None:
    cells = [seen(opened(target, tmp_path), kind) for target in TARGETS]
    line = [kind.name, *cells, *(kind.peers or peers()).values()]
    if os.environ.get(WRITES):
        _write(line)
    assert _lines().get(kind.name) == line, f"run these tests with {WRITES}=1, and look at what changed in {PAGE.name}"


def test_the_page_has_these_kinds_and_no_others() -> None:
    assert list(_lines()) == [kind.name for kind in KINDS]
    assert len(KINDS) >= 25


HEAD = ["change", *TARGETS, *PEERS]
SECTION = re.compile(r"(<!-- kinds of change -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def _lines() -> dict[str, list[str]]:
    found = SECTION.search(PAGE.read_text(encoding="utf-8"))
    assert found, "docs/evolution.md has no place for the table"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[2].splitlines() if line]
    return {row[0]: row for row in rows[2:]}


def _write(line: list[str]) -> None:
    known = {**_lines(), line[0]: line}
    rows = [known[kind.name] for kind in KINDS if kind.name in known]
    table = "\n".join("| " + " | ".join(row) + " |" for row in [HEAD, ["---"] * len(HEAD), *rows])
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(SECTION.sub(lambda found: f"{found[1]}{table}\n{found[3]}", text), encoding="utf-8")
