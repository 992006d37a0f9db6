"""Rows chosen by a condition: the same rows of every target, whoever evaluates it."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError

ROWS = pa.table(
    {
        "id": [1, 2, 3, 4, None],
        "day": [date(2026, 11, 1), date(2026, 11, 1), date(2026, 11, 2), None, None],
        "cost": [Decimal("1.50"), Decimal("-2.50"), None, Decimal("0.00"), Decimal("7.00")],
        "part": ["a", "b", "a", None, "b"],
        "flag": [True, False, None, True, None],
        "a.b": ["x", "y", "x", None, "it's"],
        "real": [0.5, 1.5, None, -1.5, 2.5],
    }
)
CONDITIONS = [
    "id = 2",
    "2 >= id",
    "id <> 2",
    "id > 1.5",
    "id IN (1, 4)",
    "NOT id IN (1, 4)",
    "id BETWEEN 2 AND 3",
    "day = '2026-11-01'",
    "day > DATE '2026-11-01'",
    "day IS NULL",
    "day IS NOT NULL AND cost < 0",
    "cost = -2.5 OR cost >= 7",
    "part = 'a' AND (id = 1 OR flag)",
    "NOT flag",
    "`a.b` = 'x'",
    "`A.B` = 'it\\'s'",
    "real < -0.5",
    "part < 'b'",
    "id = id",
]
VALUES: list[dict[str, object]] = [
    {"part": "a"},
    {"PART": None},
    {"part": "b", "day": "2026-11-01"},
    {"cost": Decimal(7)},
    {"flag": True, "id": "4"},
]
TARGETS = ["parquet:t", "duckdb:t.duckdb#t", "iceberg:web.t"]


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for target in TARGETS:
        lakebed.write(ROWS, target, partition_by=None if target.startswith("duckdb") else "part")


def expected(where: str | dict[str, object]) -> list[int | None]:
    """What DuckDB says, which parses and evaluates on its own."""
    if isinstance(where, dict):
        schema = {name.lower(): ROWS.schema.field(name).type for name in ROWS.column_names}
        terms = (
            f'"{name}" IS NOT DISTINCT FROM '
            + ("NULL" if value is None else f"CAST('{value}' AS {sql(schema[name.lower()])})")
            for name, value in where.items()
        )
        text = " AND ".join(terms)
    else:
        text = where.replace("`", '"').replace("\\'", "''")
    rows = ROWS  # noqa: F841 -- DuckDB reads it by its name
    return ordered(row[0] for row in duckdb.sql(f"SELECT id FROM rows WHERE {text}").fetchall())


def sql(kind: pa.DataType) -> str:
    return {"date32[day]": "DATE", "string": "VARCHAR", "bool": "BOOLEAN", "int64": "BIGINT"}.get(
        str(kind), "DECIMAL(9,2)"
    )


def ordered(ids: object) -> list[int | None]:
    return sorted(ids, key=lambda one: (one is None, one or 0))  # type: ignore[call-overload, no-any-return]


def ids(found: object) -> list[int | None]:
    table = found if isinstance(found, pa.Table) else found.to_table()  # type: ignore[attr-defined]
    assert table.column_names == ["id"]
    return ordered(table["id"].to_pylist())


@pytest.mark.parametrize("target", TARGETS)
def test_conditions(target: str) -> None:
    for where in [*CONDITIONS, *VALUES]:
        assert ids(lakebed.read(target, columns=["ID"], where=where)) == expected(where), where
    everything = lakebed.read(target, where="id = 2")
    table = everything if isinstance(everything, pa.Table) else everything.to_table()
    assert set(table.column_names) == set(ROWS.column_names)
    assert table.num_rows == 1


@pytest.mark.spark
@pytest.mark.parametrize("target", TARGETS)
def test_conditions_on_spark(target: str, spark_local: Session) -> None:
    spark = spark_local.spark
    for where in [CONDITIONS[7], CONDITIONS[12], CONDITIONS[14], "length(part) = 1 AND id % 2 = 0", *VALUES]:
        found = lakebed.read(target, spark=spark, columns=["ID"], where=where)
        assert found.columns == ["id"]
        wanted = [2] if where == "length(part) = 1 AND id % 2 = 0" else expected(where)
        assert ordered(row[0] for row in found.collect()) == wanted, where


def test_what_cannot_be_read_is_refused() -> None:
    for where, said in [
        ("", "where is empty"),
        ({}, "where is empty"),
        ("id =", "is no condition in SQL"),
        ("id = 1 ORDER BY id", "it goes on with order"),
        ("id = 1; DROP TABLE t", "it is more than one query"),
        ("id = 1 UNION SELECT 2", "it is more than one query"),
        ("nope = 1", "no column nope"),
        ({"nope": 1}, "no column nope"),
        ("day = 'yesterday'", "'yesterday' is none of the column day"),
        ("length(part) = 1", "is not understood here"),
        ("id + 1 = 2", "is not understood here"),
        ("1 = 1", "is not understood here"),
    ]:
        with pytest.raises(ConfigError, match=said):
            lakebed.read("parquet:t", where=where)  # type: ignore[arg-type]
