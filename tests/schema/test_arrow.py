"""Arrow's other layouts become our types, originals travel in metadata, and what has no word is named."""

import pyarrow as pa
import pytest

from lakebed.errors import UnsupportedType
from lakebed.schema.arrow import from_arrow, from_arrow_schema, to_arrow, to_arrow_schema
from lakebed.schema.types import (
    ORIGINAL_KEY,
    Binary,
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Schema,
    Struct,
    Text,
    Timestamp,
)


@pytest.mark.parametrize(
    ("arrow", "ours"),
    [
        (pa.dictionary(pa.int32(), pa.string()), Text()),
        (pa.run_end_encoded(pa.int32(), pa.int64()), Integer(64)),
        (pa.large_string(), Text()),
        (pa.string_view(), Text()),
        (pa.large_binary(), Binary()),
        (pa.binary_view(), Binary()),
        (pa.binary(16), Binary(16)),
        (pa.large_list(pa.large_string()), List(Text())),
        (pa.list_(pa.int8(), 3), List(Integer(8))),
        (pa.list_view(pa.int8()), List(Integer(8))),
        (pa.float16(), Float(32)),
        (pa.date64(), Date()),
        (pa.decimal32(7, 2), Decimal(7, 2)),
        (pa.decimal256(38, 18), Decimal(38, 18)),
        (pa.decimal128(5, -2), Decimal(7, 0)),
        (pa.decimal128(2, 4), Decimal(4, 4)),
        (pa.map_(pa.dictionary(pa.int8(), pa.string()), pa.large_string()), Map(Text(), Text())),
        (pa.timestamp("ns", "Europe/Berlin"), Timestamp("ns", "Europe/Berlin")),
        (pa.json_(), Text()),
        (pa.uuid(), Binary(16)),
    ],
    ids=str,
)
def test_layouts_that_differ_in_memory_are_one_type(arrow: pa.DataType, ours: DataType) -> None:
    assert from_arrow(arrow) == ours


@pytest.mark.parametrize("sign", ["", "u"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_every_integer_is_the_same_in_arrow(bits: int, sign: str) -> None:
    arrow = getattr(pa, f"{sign}int{bits}")()
    assert from_arrow(arrow) == Integer(bits, signed=not sign)
    assert to_arrow(Integer(bits, signed=not sign)) == arrow


def test_originals_travel_in_the_fields_metadata() -> None:
    nested = Struct((Column("x", Text(), original="s/X"),))
    schema = Schema.of(
        [Column("cost", Decimal(38, 18), original="lineItem/Größe"), Column("s", nested, nullable=False)]
    )
    arrow = to_arrow_schema(schema)
    assert arrow.field("cost").metadata == {ORIGINAL_KEY.encode(): "lineItem/Größe".encode()}
    assert arrow.field("s").metadata is None
    assert from_arrow_schema(arrow) == schema


def test_money_is_decimal128_and_time_has_no_zone() -> None:
    assert to_arrow(Decimal(38, 18)) == pa.decimal128(38, 18)
    assert to_arrow(Timestamp("us")) == pa.timestamp("us")


@pytest.mark.parametrize(
    "arrow",
    [pa.duration("s"), pa.month_day_nano_interval(), pa.decimal256(50, 2), pa.sparse_union([pa.field("a", pa.int8())])],
)
def test_what_has_no_word_is_refused_by_column(arrow: pa.DataType) -> None:
    with pytest.raises(UnsupportedType) as refused:
        from_arrow_schema(pa.schema([pa.field("outer", pa.struct([pa.field("inner", arrow)]))]))
    assert refused.value.column == "outer.inner"
    assert refused.value.system == "Arrow"
