"""Hypothesis strategies for our types, columns and schemas."""

from hypothesis import strategies as st

from lakebed.schema.types import (
    Binary,
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Null,
    Schema,
    Struct,
    Text,
    Time,
    Timestamp,
    fold,
)

UNITS = st.sampled_from(["s", "ms", "us", "ns"])
# "UTC" is the one zone that formats without zones of their own give back.
ZONES = st.sampled_from([None, "UTC"])
NAMES = st.sampled_from(["a", "b", "c", "d", "Cost", "cost_center", 'quo"te', "back`tick", "spa ce", "größe", "end"])
ORIGINALS = st.none() | st.sampled_from(["lineItem/UnblendedCost", "resourceTags/user:Größe", "x"])

decimals = st.integers(1, 38).flatmap(
    lambda precision: st.builds(Decimal, st.just(precision), st.integers(0, precision))
)
scalars: st.SearchStrategy[DataType] = st.one_of(
    st.just(Boolean()),
    st.builds(Integer, st.sampled_from([8, 16, 32, 64]), st.booleans()),
    st.builds(Float, st.sampled_from([32, 64])),
    decimals,
    st.just(Text()),
    st.just(Binary()),
    st.just(Date()),
    st.builds(Time, UNITS),
    st.builds(Timestamp, UNITS, ZONES),
)


def _fields(types: st.SearchStrategy[DataType], *, minimum: int) -> st.SearchStrategy[tuple[Column, ...]]:
    columns = st.builds(
        lambda name, type_, nullable, original: Column(name, type_, nullable or type_ == Null(), original),
        NAMES,
        types,
        st.booleans(),
        ORIGINALS,
    )
    return st.lists(columns, min_size=minimum, max_size=4, unique_by=lambda column: fold(column.name)).map(tuple)


types: st.SearchStrategy[DataType] = st.recursive(
    st.just(Null()) | scalars,
    lambda inner: st.one_of(
        st.builds(List, inner),
        st.builds(Map, scalars, inner),
        st.builds(Struct, _fields(inner, minimum=1)),
    ),
    max_leaves=5,
)
schemas: st.SearchStrategy[Schema] = _fields(types, minimum=0).map(Schema)
# Few types, so that two schemas often agree on a column.
simple_schemas: st.SearchStrategy[Schema] = _fields(
    st.sampled_from([Integer(32), Integer(64), Text(), Decimal(18, 2), Struct((Column("x", Integer(32)),))]), minimum=0
).map(Schema)
