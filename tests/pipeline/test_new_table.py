"""A table is created with the columns of all known manifests, whichever month is loaded first."""

import json

import duckdb
import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text

import lakebed
from lakebed.datasets import get_unified_schema
from lakebed.model import RESERVED_COLUMNS

MORE = {"2026-07": "product/July", "2026-08": "product/August", "2026-09": "product/September"}


@pytest.fixture
def three(bills: Bills) -> Bills:
    for number, (period, column) in enumerate(MORE.items(), start=1):
        text = csv_text(f"a,{number},USD,prod,x", header=(*TYPES, column))
        bills.deliver(text, period=period, assembly=f"2026100{number}T000000Z", types={**TYPES, column: "String"})
    return bills


def columns(bills: Bills, table: str = "bill") -> dict[str, str]:
    with duckdb.connect(str(bills.folder / "costs"), read_only=True) as connection:
        found = connection.execute(f"DESCRIBE {table}").fetchall()
    return {str(name): str(type_) for name, type_, *_ in found if name not in RESERVED_COLUMNS}


@pytest.mark.parametrize(
    "settings", [{}, {"period": "2026-08"}, {"since": "2026-09"}], ids=["all", "one month", "since a month"]
)
def test_a_new_table_has_the_columns_of_every_month(three: Bills, settings: dict[str, str]) -> None:
    [first, *_] = lakebed.plan(three.folder / "bucket", three.target, **settings).deliveries  # type: ignore[arg-type]
    assert first.evolution is not None
    three.run(**settings)
    manifests = [json.loads(path.read_text()) for path in (three.folder / "bucket").rglob("*-Manifest.json")]
    assert columns(three) == get_unified_schema(manifests)
    assert set(first.evolution.final.names) == {*columns(three), *RESERVED_COLUMNS}
    assert [one.added_columns for one in three.run().deliveries] == [(), (), ()]


def test_columns_that_only_the_files_have_are_known_too(three: Bills) -> None:
    for path in (three.folder / "bucket").rglob("*-Manifest.json"):
        manifest = json.loads(path.read_text())
        path.write_text(json.dumps({**manifest, "columns": manifest["columns"][:3]}))
    assert [one.added_columns for one in three.run().deliveries] == [(), (), ()]
    assert {"product_july", "product_august", "product_september"} <= set(columns(three))


def test_a_month_that_cannot_be_read_hinders_no_other(three: Bills) -> None:
    [july] = (three.folder / "bucket").rglob("20260701-*/*/*.csv.gz")
    july.write_bytes(b"no gzip")
    report = {one.period: one.state for one in three.run().deliveries}
    assert report == {"2026-09": "loaded", "2026-08": "loaded", "2026-07": "failed"}
    assert "product_july" in columns(three)


def test_a_month_whose_type_does_not_fit_is_refused_alone(three: Bills) -> None:
    text = csv_text("a,2026-10-01T00:00:00Z,USD,prod", header=tuple(TYPES))
    types = {**TYPES, "lineItem/UnblendedCost": "DateTime"}
    three.deliver(text, period="2026-06", assembly="20261009T000000Z", types=types)
    states = {one.period: one.state for one in three.run().deliveries}
    assert states == {"2026-09": "loaded", "2026-08": "loaded", "2026-07": "loaded", "2026-06": "failed"}
    assert columns(three)["line_item_unblended_cost"] == "DECIMAL(38,18)"


def test_another_report_has_its_own_columns(three: Bills) -> None:
    for path in (three.folder / "bucket").rglob("*20260701-*/*-Manifest.json"):
        path.unlink()
    [july] = three.deliver(csv_text("a,1,USD,prod,x", header=(*TYPES, "product/Other")), period="2026-07")
    manifest = july.parent / "bill-Manifest.json"
    manifest.write_text(manifest.read_text().replace('"reportName": "bill"', '"reportName": "other"'))
    three.run()
    assert "product_other" in columns(three, "other")
    assert "product_august" not in columns(three, "other")
    assert "product_other" not in columns(three)
