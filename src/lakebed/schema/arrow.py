"""Our types in Arrow and back. Arrow has every one of them; layouts that differ in memory alone become one."""

import pyarrow as pa
import pyarrow.types as pat

from lakebed.errors import UnsupportedType
from lakebed.schema.originals import originals_text, read_originals
from lakebed.schema.types import (
    ORIGINAL_KEY,
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
)

_INTEGERS = {
    (8, True): pa.int8(),
    (16, True): pa.int16(),
    (32, True): pa.int32(),
    (64, True): pa.int64(),
    (8, False): pa.uint8(),
    (16, False): pa.uint16(),
    (32, False): pa.uint32(),
    (64, False): pa.uint64(),
}


def to_arrow(type_: DataType) -> pa.DataType:
    """The Arrow type; decimals are decimal128, text is string, lists are list."""
    match type_:
        case Null():
            return pa.null()
        case Boolean():
            return pa.bool_()
        case Integer(bits, signed):
            return _INTEGERS[bits, signed]
        case Float(bits):
            return pa.float32() if bits == 32 else pa.float64()
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Text():
            return pa.string()
        case Binary(width):
            return pa.binary() if width is None else pa.binary(width)
        case Date():
            return pa.date32()
        case Time(unit):
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        case Timestamp(unit, zone):
            return pa.timestamp(unit, zone)
        case List(element):
            return pa.list_(to_arrow(element))
        case Map(key, value):
            return pa.map_(to_arrow(key), to_arrow(value))
        case Struct(fields):
            return pa.struct([to_arrow_field(field) for field in fields])


def to_arrow_field(column: Column) -> pa.Field:
    """The Arrow field, with the original names in its metadata."""
    text = originals_text(column)
    metadata = None if text is None else {ORIGINAL_KEY: text}
    # Arrow knows no required column of nothing.
    nullable = column.nullable or isinstance(column.type, Null)
    return pa.field(column.name, to_arrow(column.type), nullable=nullable, metadata=metadata)


def to_arrow_schema(schema: Schema) -> pa.Schema:
    return pa.schema([to_arrow_field(column) for column in schema])


def from_arrow_schema(schema: pa.Schema) -> Schema:
    return Schema.of(from_arrow_field(field) for field in schema)


def from_arrow_field(field: pa.Field, *, within: str = "") -> Column:
    """The column; `within` is the dotted name of the struct that holds the field, for messages."""
    path = f"{within}.{field.name}" if within else field.name
    text = (field.metadata or {}).get(ORIGINAL_KEY.encode())
    original, aliases = read_originals(None if text is None else text.decode())
    return Column(
        field.name,
        from_arrow(field.type, column=path),
        nullable=field.nullable,
        original=original,
        aliases=aliases,
    )


def from_arrow(type_: pa.DataType, *, column: str | None = None) -> DataType:
    """Our type for an Arrow type, or UnsupportedType naming the column."""
    if isinstance(type_, pa.BaseExtensionType):
        return from_arrow(type_.storage_type, column=column)
    if pat.is_dictionary(type_) or pat.is_run_end_encoded(type_):
        return from_arrow(type_.value_type, column=column)
    if pat.is_nested(type_):
        return _nested(type_, column)
    if pat.is_null(type_):
        return Null()
    if pat.is_boolean(type_):
        return Boolean()
    if pat.is_integer(type_):
        return Integer(type_.bit_width, pat.is_signed_integer(type_))
    if pat.is_floating(type_):
        return Float(max(type_.bit_width, 32))
    if pat.is_decimal(type_):
        return _decimal(type_, column)
    if pat.is_string(type_) or pat.is_large_string(type_) or pat.is_string_view(type_):
        return Text()
    if pat.is_fixed_size_binary(type_):
        return Binary(type_.byte_width)
    if pat.is_binary(type_) or pat.is_large_binary(type_) or pat.is_binary_view(type_):
        return Binary()
    if pat.is_date(type_):
        return Date()
    if pat.is_time(type_):
        return Time(type_.unit)
    if pat.is_timestamp(type_):
        return Timestamp(type_.unit, type_.tz)
    raise UnsupportedType(system="Arrow", type_name=str(type_), column=column)


def _nested(type_: pa.DataType, column: str | None) -> DataType:
    if pat.is_map(type_):
        return Map(from_arrow(type_.key_type, column=column), from_arrow(type_.item_type, column=column))
    if pat.is_struct(type_):
        return Struct(tuple(from_arrow_field(type_.field(i), within=column or "") for i in range(type_.num_fields)))
    if pat.is_union(type_):
        raise UnsupportedType(system="Arrow", type_name=str(type_), column=column)
    return List(from_arrow(type_.value_type, column=column))


def _decimal(type_: pa.DataType, column: str | None) -> Decimal:
    # A negative scale counts zeros before the point: the same values need digits instead.
    precision, scale = type_.precision, type_.scale
    if scale < 0:
        precision, scale = precision - scale, 0
    precision = max(precision, scale)
    if precision > 38:
        raise UnsupportedType(system="Arrow", type_name=str(type_), column=column)
    return Decimal(precision, scale)
