"""Rows that others deleted by their values are gone from every read and write of ours, to the letter of the format."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.manifest import FileFormat
from pyiceberg.transforms import BucketTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType
from tests.support.equality_deletes import delete_by_value
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table

import lakebed
from lakebed.errors import TargetError
from lakebed.storage import Storage
from lakebed.targets.iceberg.target import IcebergTarget


def table_of(target: IcebergTarget, **columns: list[object] | pa.Array) -> IcebergTarget:
    lakebed.write(pa.table(columns), target)
    return target


def kept(target: IcebergTarget, name: str = "sku") -> list[object]:
    found = lakebed.read(target)
    rows = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(rows[name].to_pylist(), key=str)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergTarget:
    """Five wares, one without a colour."""
    monkeypatch.chdir(tmp_path)
    target = open_table(tmp_path, "shop.wares")
    return table_of(
        target,
        sku=["a", "b", "c", "d", "e"],
        colour=["red", "red", "blue", None, "blue"],
        price=pa.array([Decimal(n) for n in range(1, 6)], pa.decimal128(9, 2)),
        made=[date(2026, 1, day) for day in (1, 1, 2, 2, 3)],
        size=pa.array([1, 2, 3, 4, 5], pa.int32()),
    )


def test_by_one_column(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"sku": ["b", "e", "nobody"]}))
    assert kept(shop) == ["a", "c", "d"]
    assert shop.state().rows == 3
    assert shop.totals(None, ["price"]).sums["price"] == 8


def test_null_is_a_value(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"colour": pa.array([None], pa.string())}))
    assert kept(shop) == ["a", "b", "c", "e"]


def test_without_null_nothing_that_is_null_goes(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"colour": ["blue"]}))
    assert kept(shop) == ["a", "b", "d"]


def test_by_several_columns_all_of_them_count(shop: IcebergTarget) -> None:
    delete_by_value(
        shop,
        pa.table({"colour": ["red", "blue", None], "made": [date(2026, 1, 2), date(2026, 1, 3), date(2026, 1, 2)]}),
    )
    assert kept(shop) == ["a", "b", "c"]


def test_several_deletes_by_several_columns(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"sku": ["a"]}))
    delete_by_value(shop, pa.table({"price": pa.array([Decimal(2)], pa.decimal128(9, 2))}))
    assert kept(shop) == ["c", "d", "e"]


def test_rows_that_came_later_stay(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"sku": ["a"]}))
    done = lakebed.write(pa.table({"sku": ["a"], "colour": ["green"]}), shop)
    assert kept(shop) == ["a", "b", "c", "d", "e"]
    assert done.total == 5


def test_a_wider_type_finds_the_old_values(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"size": pa.array([2], pa.int32())}))
    with shop.existing_table().update_schema() as update:
        update.update_column("size", field_type=LongType())
    assert kept(shop) == ["a", "c", "d", "e"]


def test_a_column_that_was_dropped_since_still_decides(shop: IcebergTarget) -> None:
    old = shop.existing_table().schema().find_field("colour").field_id
    delete_by_value(shop, pa.table({"colour": ["red"]}))
    with shop.existing_table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("colour")
    lakebed.evolve(shop, {"colour": "string"})  # a name that returns is a new column
    assert kept(shop) == ["c", "d", "e"]
    assert kept(shop, "colour") == [None, None, None]
    delete_by_value(shop, pa.table({"gone": ["blue"]}), field_ids={"gone": old})
    assert kept(shop) == ["c", "d", "e"], "these files were rewritten, and have no such column"


def test_a_column_that_old_files_lack_is_null_there(shop: IcebergTarget) -> None:
    lakebed.evolve(shop, {"shelf": "int"})
    delete_by_value(shop, pa.table({"shelf": pa.array([7], pa.int32())}))
    assert len(kept(shop)) == 5
    delete_by_value(shop, pa.table({"shelf": pa.array([None], pa.int32())}))
    assert kept(shop) == []


def test_a_delete_counts_for_its_partition(tmp_path: Path) -> None:
    target = open_table(tmp_path, "shop.parts")
    load(target, pa.table({"sku": ["a", "b"]}), OCTOBER, partition_by=["lakebed_period"])
    load(target, pa.table({"sku": ["a", "c"]}), NOVEMBER)
    delete_by_value(target, pa.table({"sku": ["a"]}), partition=Record("2026-10"))
    assert kept(target) == ["a", "b", "c"]
    assert (target.totals(OCTOBER, []).rows, target.totals(NOVEMBER, []).rows) == (1, 2)


def test_a_delete_without_partition_counts_for_all(tmp_path: Path) -> None:
    target = open_table(tmp_path, "shop.whole")
    table_of(target, sku=["a", "b"], n=[1, 2])
    target.existing_table().update_spec().add_field("n", BucketTransform(4), "bucket").commit()
    table_of(target, sku=["a", "c"], n=[1, 3])
    delete_by_value(target, pa.table({"sku": ["a"]}), spec_id=0)
    assert kept(target) == ["b", "c"]


def merge(target: IcebergTarget) -> object:
    rows = pa.table({"sku": ["b", "f"], "size": pa.array([20, 60], pa.int32())})
    return lakebed.merge(rows, target, keys="sku", engine="arrow", storage=Storage(target.settings.storage))


def append(target: IcebergTarget) -> object:
    return lakebed.write(pa.table({"sku": ["b", "f"]}), target)


ACTIONS: dict[str, tuple[Callable[[IcebergTarget], object], list[object]]] = {
    "merge": (merge, ["a", "b", "d", "f"]),
    "append": (append, ["a", "b", "d", "f"]),
    "evolve": (lambda target: lakebed.evolve(target, {"note": "string"}), ["a", "d"]),
    "compact": (lakebed.compact, ["a", "d"]),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_what_we_write_next_brings_no_row_back(shop: IcebergTarget, name: str) -> None:
    delete_by_value(shop, pa.table({"sku": ["b"]}))
    delete_by_value(shop, pa.table({"colour": ["blue"]}))
    action, expected = ACTIONS[name]
    action(shop)
    assert kept(shop) == expected
    assert shop.state().rows == len(expected)


def test_deletes_that_no_file_is_older_than_change_nothing(shop: IcebergTarget) -> None:
    """A compaction by another engine leaves them in the metadata: they are in nobody's way."""
    delete_by_value(shop, pa.table({"sku": ["b"]}))
    assert lakebed.compact(shop).rows == 0
    assert shop.unsettled() == 0
    assert shop.totals(None, ["price"]).sums["price"] == 13
    before = len(shop.snapshots())
    merge(shop)
    assert len(shop.snapshots()) == before + 1, "nothing had to be settled"
    assert kept(shop) == ["a", "b", "c", "d", "e", "f"]


def test_deletes_in_a_format_that_is_not_read_are_refused_before_any_work(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"sku": ["b"]}), format_=FileFormat.AVRO)
    before = shop.existing_table().metadata_location
    for action, _ in ACTIONS.values():
        with pytest.raises(TargetError, match=r"equality deletes.*AVRO"):
            action(shop)
    with pytest.raises(TargetError, match="rewrite_data_files"):
        lakebed.read(shop)
    assert shop.existing_table().metadata_location == before
    first = shop.snapshots()[0].id
    lakebed.rollback(shop, first)
    assert kept(shop) == ["a", "b", "c", "d", "e"]


def test_a_rollback_to_what_cannot_be_read_is_refused_before_it_is_done(shop: IcebergTarget) -> None:
    delete_by_value(shop, pa.table({"sku": ["b"]}), format_=FileFormat.AVRO)
    snapshots = shop.snapshots()
    lakebed.rollback(shop, snapshots[0].id)
    with pytest.raises(TargetError, match="equality deletes"):
        lakebed.rollback(shop, snapshots[1].id)
    assert kept(shop) == ["a", "b", "c", "d", "e"]


def test_bounds_spare_files_that_hold_none_of_the_values(shop: IcebergTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    lakebed.write(pa.table({"sku": ["x", "y"]}), shop)
    delete_by_value(shop, pa.table({"sku": ["x"]}), bounded=True)
    assert shop.unsettled() == 1
    assert kept(shop) == ["a", "b", "c", "d", "e", "y"]
