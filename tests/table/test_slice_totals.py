"""What workers count of a slice is what the table itself says of it, whoever wrote to it in between."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import lakebed
from lakebed.config import DEFAULT_CATALOG
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import CountJob, Engine
from lakebed.engines.spark.load import SparkEngine
from lakebed.engines.spark.session import Session
from lakebed.model import ColumnSlice, Totals
from lakebed.table import slice_totals as module
from lakebed.table.slice_totals import slice_totals
from lakebed.targets.address import open_target
from lakebed.targets.base import Target

COLUMNS = ["cost", "Filename"]
Open = Callable[[], Target]


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORKERS_FROM_BYTES", 0)


@pytest.fixture(params=["arrow", pytest.param("spark", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "arrow":
        return ArrowEngine()
    session: Session = request.getfixturevalue("spark_local")
    return SparkEngine(session.spark)


@pytest.fixture(params=["parquet", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Two months in several files, with a column that came later, large decimals, and no currency in places."""
    monkeypatch.chdir(tmp_path)
    address = "parquet:lake" if request.param == "parquet" else "iceberg:ns.t"
    big = Decimal("99999999999999999999.999999999999999999")

    def rows(month: str, costs: list[Decimal | None], **more: list[object]) -> pa.Table:
        columns: dict[str, object] = {
            "month": [month] * len(costs),
            "cost": pa.array(costs, pa.decimal128(38, 18)),
            "currency": ["USD", None, "EUR"][: len(costs)],
        }
        return pa.table({**columns, **more})

    lakebed.write(rows("jan", [big, big, Decimal("0.000000000000000001")]), address, partition_by="month")
    lakebed.write(rows("feb", [Decimal(7), None, Decimal("-1.5")], Filename=[1, 2, None]), address)
    lakebed.write(rows("jan", [Decimal("-0.3")], Filename=[40]), address)
    return lambda: open_target(address, workdir=Path(".lakebed"))


def watched(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[CountJob]:
    """The jobs that the engine gets: a test that never asks it would prove nothing."""
    jobs: list[CountJob] = []
    count = engine.count
    monkeypatch.setattr(engine, "count", lambda job: (jobs.append(job), count(job))[1])
    return jobs


@pytest.mark.parametrize("month", ["jan", "feb", "none"])
@pytest.mark.parametrize("currency", ["currency", None])
def test_it_is_what_the_table_says(
    table: Open, engine: Engine, month: str, currency: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = watched(engine, monkeypatch)
    slice_ = ColumnSlice({"month": month})
    found = slice_totals(table(), slice_, COLUMNS, currency=currency, engine=engine)
    told = table().totals(slice_, COLUMNS, currency=currency)
    assert (found.rows, {**told.sums, **found.sums}) == (told.rows, told.sums)
    assert found.by_currency == told.by_currency
    assert len(jobs) == 1
    assert len(jobs[0].files) == {"jan": 2, "feb": 1, "none": 0}[month]


def test_rows_that_a_stranger_deleted_do_not_count(table: Open, engine: Engine, tmp_path: Path) -> None:
    if not table().address.startswith("iceberg"):
        pytest.skip("only Iceberg has strangers who delete rows beside files")
    catalog = load_catalog(
        DEFAULT_CATALOG,
        type="sql",
        uri=f"sqlite:///{tmp_path}/.lakebed/catalog.db",
        warehouse=f"file://{tmp_path}/.lakebed/warehouse",
    )
    catalog.load_table("ns.t").delete("cost = 7")
    found = slice_totals(table(), ColumnSlice({"month": "feb"}), COLUMNS, currency=None, engine=engine)
    assert found.rows == 2
    assert found.sums["cost"] == Decimal("-1.5")


def test_a_slice_of_a_column_that_the_table_lacks_is_empty(table: Open, engine: Engine) -> None:
    found = slice_totals(table(), ColumnSlice({"nowhere": "x"}), ["cost"], currency=None, engine=engine)
    assert found == Totals(0, {"cost": Decimal(0)}, {})


def test_small_slices_are_read_here(table: Open, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WORKERS_FROM_BYTES", 64 << 20)
    jobs = watched(engine, monkeypatch)
    assert slice_totals(table(), ColumnSlice({"month": "jan"}), ["cost"], currency=None, engine=engine).rows == 4
    assert jobs == []
