"""One validation for every engine: from schemas and counts, without a row."""

import pyarrow as pa
import pytest

from lakebed.datasets import DatasetMergeError, validate_keys_and_schema


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
