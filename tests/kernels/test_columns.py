"""Columns of files and columns of tables."""

import pyarrow as pa

from lakebed.kernels.columns import FIELD_ID, without_ids


def test_files_from_elsewhere_lose_their_ids_at_every_depth() -> None:
    def numbered(name: str, kind: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, kind, metadata={FIELD_ID: str(number), b"unit": b"EUR"})

    inner = pa.struct([numbered("a", pa.int64(), 2)])
    schema = pa.schema(
        [
            numbered("s", inner, 1),
            numbered("l", pa.list_(numbered("element", inner, 4)), 3),
            numbered("m", pa.map_(pa.string(), inner), 5),
        ]
    )
    plain = without_ids(schema)
    assert plain.equals(schema, check_metadata=False)
    assert "field_id" not in plain.to_string(show_field_metadata=True)
    assert {field.metadata[b"unit"] for field in plain} == {b"EUR"}
