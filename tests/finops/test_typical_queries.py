"""The questions that people ask a bill have the same answers over every format, naming and engine."""

import csv
import gzip
import io
from collections.abc import Iterable
from decimal import Decimal
from functools import cache

import pytest
import sqlglot
from tests.finops.loaded_bills import TABLE, ask, load_bill
from tests.finops.typical_queries import TYPICAL_QUERIES, Line, TypicalQuery

import lakebed
from lakebed.engines.spark.session import Session

EVERY = pytest.mark.parametrize("query", TYPICAL_QUERIES, ids=lambda query: query.name)


@cache
def source_lines() -> list[Line]:
    """Every line of the deliveries that count, as the CSV files of the CUR have it."""
    bill = load_bill()
    lines: list[Line] = []
    for delivery in bill.truth.current:
        for file in delivery.files:
            content = gzip.decompress((bill.truth.folder / file).read_bytes()).decode()
            month = str(int(delivery.period.partition("-")[2]))
            lines += ({**line, "month": month} for line in csv.DictReader(io.StringIO(content, newline="")))
    return lines


def comparable(rows: Iterable[Iterable[object]]) -> list[tuple[str, ...]]:
    return sorted(
        tuple(format(value.normalize(), "f") if isinstance(value, Decimal) else repr(value) for value in row)
        for row in rows
    )


@EVERY
def test_in_duckdb(query: TypicalQuery) -> None:
    bill = load_bill()
    lakebed.views(bill.target, workdir=bill.workdir)
    [sql] = sqlglot.transpile(query.sql.format(table=f"{TABLE}_athena"), read="athena", write="duckdb")
    assert comparable(ask(bill, sql)) == comparable(query.expected(source_lines()))


@pytest.mark.spark
def test_on_spark(spark_local: Session) -> None:
    bill = load_bill(target="parquet")
    lakebed.views(bill.target, workdir=bill.workdir, spark=spark_local.spark)
    for query in TYPICAL_QUERIES:
        [sql] = sqlglot.transpile(query.sql.format(table=f"{TABLE}_athena"), read="athena", write="spark")
        found = spark_local.spark.sql(sql).toArrow().to_pylist()
        assert comparable(row.values() for row in found) == comparable(query.expected(source_lines())), query.name
