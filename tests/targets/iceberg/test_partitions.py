"""Partitions that another engine changed: every new file belongs to one, whatever the transforms."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import GreaterThanOrEqual
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of

import lakebed
from lakebed.targets.iceberg import partitions
from lakebed.targets.iceberg.target import IcebergTarget

START = datetime(2026, 10, 30, 22)
ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "name": [f"name {number % 7}" for number in range(40)],
        "cost": pa.array([Decimal(number) / 4 for number in range(40)], pa.decimal128(18, 2)),
        "day": pa.array([date(2026, 10, 25) + timedelta(days=number // 4) for number in range(40)]),
        "at": pa.array([START + timedelta(minutes=20 * number) for number in range(40)], pa.timestamp("us")),
        "zoned": pa.array(
            [START.replace(tzinfo=UTC) + timedelta(hours=9 * number) for number in range(40)], pa.timestamp("us", "UTC")
        ),
        "clock": pa.array([time(number % 24) for number in range(40)], pa.time64("us")),
        "raw": pa.array([bytes([number % 3, 1, 2]) for number in range(40)], pa.binary()),
        "st": pa.array([{"a": number % 4, "b": "x"} for number in range(40)]),
        "some": pa.array([None if number % 3 else number for number in range(40)], pa.int64()),
    }
)
SPECS: list[tuple[str, Transform[object, object]]] = [
    ("id", BucketTransform(4)),
    ("id", TruncateTransform(10)),
    ("name", BucketTransform(3)),
    ("name", TruncateTransform(6)),
    ("name", IdentityTransform()),
    ("cost", BucketTransform(3)),
    ("cost", TruncateTransform(200)),
    ("day", DayTransform()),
    ("day", MonthTransform()),
    ("day", YearTransform()),
    ("day", BucketTransform(2)),
    ("day", IdentityTransform()),
    ("at", HourTransform()),
    ("at", DayTransform()),
    ("at", IdentityTransform()),
    ("zoned", MonthTransform()),
    ("zoned", HourTransform()),
    ("clock", IdentityTransform()),
    ("clock", BucketTransform(3)),
    ("raw", BucketTransform(3)),
    ("raw", TruncateTransform(1)),
    ("st.a", IdentityTransform()),
    ("st.a", BucketTransform(2)),
    ("some", BucketTransform(4)),
    ("some", IdentityTransform()),
]


def table_of(workdir: Path, rows: pa.Table = ROWS) -> IcebergTarget:
    lakebed.merge(rows.slice(0, 20), "iceberg:billing.costs", keys="id", engine="arrow", workdir=workdir)
    return open_table(workdir)


def merge(workdir: Path, rows: pa.Table, engine: str = "arrow") -> lakebed.MergeResult:
    return lakebed.merge(rows, "iceberg:billing.costs", keys="id", engine=engine, workdir=workdir)  # type: ignore[arg-type]


def require_true_partitions(table: Table) -> int:
    """Every file of the current spec holds just the rows that its partition says; returns how many files those are."""
    spec, schema, seen = table.spec(), table.schema(), 0
    for task in table.scan().plan_files():
        if task.file.spec_id != spec.spec_id:
            continue
        seen += 1
        rows = pq.read_table(task.file.file_path.removeprefix("file://"))
        for batch in rows.to_batches():
            found = list(partitions.partitions_of(batch, spec, schema))
            assert [partition for partition, _ in found] == [task.file.partition]
    return seen


@pytest.mark.parametrize(
    ("column", "transform"), SPECS, ids=[f"{transform} of {column}" for column, transform in SPECS]
)
def test_a_transform_that_another_engine_added_is_followed(
    column: str, transform: Transform[object, object], tmp_path: Path
) -> None:
    target = table_of(tmp_path)
    with target.existing_table().update_spec() as update:
        update.add_field(column, transform, "part")
    done = merge(tmp_path, ROWS.slice(10))
    assert (done.inserted, done.updated, done.total) == (20, 10, 40)
    assert require_true_partitions(target.existing_table()) > 0
    assert sorted(row["id"] for row in rows_of(target)) == list(range(40))
    merge(tmp_path, ROWS.slice(0, 3))
    assert sorted(rows_of(target), key=str) == sorted(ROWS.to_pylist(), key=str)
    assert require_true_partitions(target.existing_table()) > 0
    inside = {str(path) for path in Path(tmp_path / "warehouse").rglob("*.parquet")}
    assert inside == {path.removeprefix("file://") for path in target.named_files() if path.endswith(".parquet")}


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_several_specs_at_once(tmp_path: Path, engine: str) -> None:
    target = table_of(tmp_path)
    changes: list[Callable[[Table], None]] = [
        lambda table: table.update_spec().add_field("id", BucketTransform(3), "bucket").commit(),
        lambda table: table.update_spec().add_field("at", DayTransform(), "at_day").commit(),
        lambda table: table.update_spec().remove_field("bucket").commit(),
        lambda table: table.update_spec().add_identity("name").commit(),
    ]
    for number, change in enumerate(changes, start=1):
        change(target.existing_table())
        rows = ROWS.slice(number * 8 - 4, 8).set_column(
            2, "cost", pa.array([Decimal(number)] * 8, pa.decimal128(18, 2))
        )
        merge(tmp_path, rows, engine)
        assert require_true_partitions(target.existing_table()) > 0
    found = {row["id"]: row for row in rows_of(target)}
    assert sorted(found) == list(range(36))
    assert [found[number]["cost"] for number in (3, 4, 11, 12, 20, 28)] == [Decimal("0.75"), 1, 1, 2, 3, 4]
    scan = target.existing_table().scan(row_filter=GreaterThanOrEqual("at", "2026-10-31T00:00:00"))  # type: ignore[call-arg, arg-type]
    assert scan.to_arrow().num_rows == sum(row["at"] >= datetime(2026, 10, 31) for row in found.values())  # type: ignore[operator]


def test_a_load_into_a_table_that_another_engine_partitioned(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, ROWS.slice(0, 10), OCTOBER, partition_by=["lakebed_period"])
    target.existing_table().update_spec().add_field("id", BucketTransform(4), "bucket").commit()
    load(target, ROWS.slice(10, 10), NOVEMBER)
    load(target, ROWS.slice(20, 10), OCTOBER)
    assert sorted(row["id"] for row in rows_of(target)) == list(range(10, 30))
    assert require_true_partitions(target.existing_table()) == 8


def test_more_partitions_than_files_can_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "OPEN_FILES", 3)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", small_batches(pq.ParquetFile.iter_batches))
    target = table_of(tmp_path)
    target.existing_table().update_spec().add_field("id", BucketTransform(16), "bucket").commit()
    merge(tmp_path, ROWS)
    assert require_true_partitions(target.existing_table()) > 3
    assert sorted(row["id"] for row in rows_of(target)) == list(range(40))


def small_batches(iter_batches: Callable[..., object]) -> Callable[..., object]:
    def some(self: pq.ParquetFile, *args: object, **options: object) -> object:
        return iter_batches(self, *args, **{**options, "batch_size": 5})

    return some


def test_a_sort_order_and_other_properties_stay(tmp_path: Path) -> None:
    target = table_of(tmp_path)
    table = target.existing_table()
    with table.update_sort_order() as order:
        order.asc("name", IdentityTransform())
    with table.transaction() as transaction:
        transaction.set_properties({"owner": "someone", "write.distribution-mode": "range"})
    before = target.existing_table().metadata
    merge(tmp_path, ROWS.slice(15))
    after = target.existing_table().metadata
    assert (after.default_sort_order_id, after.sort_orders) == (before.default_sort_order_id, before.sort_orders)
    assert before.properties == after.properties
