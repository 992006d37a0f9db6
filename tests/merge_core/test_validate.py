"""One validation for every engine: from schemas and counts, without a row."""

import pyarrow as pa
import pytest

from lakebed.datasets import DatasetMergeError, validate_keys_and_schema
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import unify
from lakebed.schema.types import Column, Integer, List, Schema, Text

TABLE = Schema.of([Column("id", Integer(64)), Column("V", Text()), Column("w", Text())])
CONFLICT = Schema.of([Column("id", Integer(64)), Column("v", List(Integer(64))), Column("w", Text())])


def test_validation_needs_no_rows() -> None:
    class Described:
        """A table that only describes itself."""

        def __init__(self, schema: pa.Schema, nulls: int = 0) -> None:
            self.schema = schema
            self.num_rows = 10**12
            self._nulls = nulls

        def null_count(self, column: str) -> int:
            return self._nulls

    ids = pa.schema([("id", pa.int64())])
    validate_keys_and_schema(Described(ids), None, ["id"])
    validate_keys_and_schema(Described(ids), Described(pa.schema([("ID", pa.int32())])), ["id"])
    with pytest.raises(DatasetMergeError) as caught:
        validate_keys_and_schema(Described(ids, nulls=3), None, ["id"])
    assert (caught.value.kind, caught.value.column, caught.value.count) == ("NULL_KEY_SOURCE", "id", 3)


@pytest.mark.parametrize(
    ("source", "target", "keys", "kind"),
    [
        (pa.table({"a": [1]}), None, ["id"], "KEY_COLUMN_MISSING_SOURCE"),
        (pa.table({"id": [1]}), pa.table({"a": [1]}), ["id"], "KEY_COLUMN_MISSING_TARGET"),
        (pa.table({"id": [1]}), pa.table({"id": ["1"]}), ["id"], "KEY_TYPE_MISMATCH"),
        (pa.table({"id": [1], "v": [1]}), pa.table({"id": [1], "v": ["1"]}), ["id"], "SCHEMA_INCOMPATIBLE"),
        (pa.table({"id": [None, 1]}), None, ["id"], "NULL_KEY_SOURCE"),
        (pa.table({"id": [1]}), pa.table({"id": [None, 1]}), ["id"], "NULL_KEY_TARGET"),
        (pa.table({"id": [[1]]}), None, ["id"], "INVALID_KEY_COLUMNS"),
    ],
)
def test_shared_validation(source: pa.Table, target: pa.Table | None, keys: list[str], kind: str) -> None:
    with pytest.raises(DatasetMergeError) as caught:
        validate_keys_and_schema(source, target, keys)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("asked", "partition_by"),
    [
        pytest.param({"strategy": "deduplicate", "dedup_order_by": ["w", "v"]}, (), id="rows are ordered by it"),
        pytest.param({"partition_by": "v"}, (), id="the merge partitions by it"),
        pytest.param({}, ("w", "V"), id="the table is partitioned by it"),
    ],
)
def test_what_orders_or_places_rows_gets_no_variant(asked: dict[str, object], partition_by: tuple[str, ...]) -> None:
    spec = MergeSpec.of(keys="id", on_conflict="variant", **asked)  # type: ignore[arg-type]
    with pytest.raises(DatasetMergeError) as refused:
        unify(spec, TABLE, CONFLICT, partition_by=partition_by)
    assert (refused.value.kind, refused.value.column) == ("SCHEMA_INCOMPATIBLE", "V")
    assert "cannot have a variant" in refused.value.message


def test_other_columns_get_a_variant() -> None:
    spec = MergeSpec.of(keys="id", on_conflict="variant", strategy="deduplicate", dedup_order_by="w")
    unified = unify(spec, TABLE, CONFLICT, partition_by=["w"])
    assert [str(conflict.path[0]) for conflict in unified.evolution.conflicts] == ["V"]


def test_a_type_that_we_do_not_have_names_its_column() -> None:
    strange = pa.table({"id": [1], "d": pa.array([1], pa.duration("s"))})
    with pytest.raises(DatasetMergeError) as refused:
        validate_keys_and_schema(strange, None, ["id"])
    assert (refused.value.kind, refused.value.column) == ("SCHEMA_INCOMPATIBLE", "d")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"partition_by": "nowhere"}, "there is no column nowhere to order or partition by"),
        ({"strategy": "deduplicate", "dedup_order_by": "nowhere"}, "there is no column nowhere to order or"),
        ({"strategy": "deduplicate", "dedup_order_by": "w"}, "the source has no column w to order by"),
    ],
)
def test_columns_to_order_and_place_rows_by_are_there(asked: dict[str, str], message: str) -> None:
    spec = MergeSpec.of(keys="id", **asked)  # type: ignore[arg-type]
    with pytest.raises(DatasetMergeError, match=message) as refused:
        unify(spec, TABLE, Schema.of([Column("id", Integer(64)), Column("v", Text())]))
    assert (refused.value.kind, refused.value.column) == ("INVALID_KEY_COLUMNS", str(*list(asked.values())[-1:]))


def test_a_name_that_arrow_keeps_for_itself_is_refused() -> None:
    incoming = Schema.of([Column("id", Integer(64)), Column("__filename", Text())])
    with pytest.raises(DatasetMergeError) as refused:
        unify(MergeSpec.of(keys="id"), None, incoming)
    assert (refused.value.kind, refused.value.column) == ("SCHEMA_INCOMPATIBLE", "__filename")
