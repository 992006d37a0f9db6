"""Widening: the one table of which type holds every value of two others. Pure; nothing here can narrow.

`widen(current, incoming)` is the current type, grown where it must be, or a `Mismatch` that says where and why not.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from lakebed.schema.types import (
    Binary,
    Column,
    DataType,
    Date,
    Decimal,
    Float,
    Integer,
    List,
    Map,
    Null,
    Struct,
    Text,
    Time,
    Timestamp,
    TimeUnit,
    fold,
)

Path: TypeAlias = tuple[str, ...]

MAX_DECIMAL_DIGITS = 38
UNITS: tuple[TimeUnit, ...] = ("s", "ms", "us", "ns")
# Integers up to this many bits of magnitude are exact in a float of this width.
_MANTISSA_BITS = {32: 24, 64: 53}
# How a path speaks of what lies inside lists and maps; Iceberg and DuckDB use the same words.
ELEMENT, KEY, VALUE = "element", "key", "value"


@dataclass(frozen=True, slots=True)
class FormatRules:
    """What a target's format can express; what it cannot is refused before any write.

    Where the format merely lacks a narrow type, the next that holds all its values is taken (`storable`).
    """

    decimal_scale_may_grow: bool = True
    integer_to_decimal: bool = True
    integer_to_float: bool = True
    date_to_timestamp: bool = True
    unsigned_integers: bool = True
    small_integers: bool = True
    nanoseconds: bool = True
    coarsest_time_unit: TimeUnit = "s"
    # Where moments with a zone, and times of day, have fewer units than the two fields above say.
    zoned_timestamp_units: tuple[TimeUnit, ...] = UNITS
    time_of_day_units: tuple[TimeUnit, ...] = UNITS
    null_type: bool = True
    empty_structs: bool = True
    fixed_binary: bool = True
    fixed_binary_may_grow: bool = True  # into binary of any length
    map_keys_may_grow: bool = True


ANY_FORMAT = FormatRules()


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two types that no wider one brings together; `path` leads from the column to the place inside it."""

    path: Path
    current: DataType
    incoming: DataType
    reason: str


def widen(current: DataType, incoming: DataType, rules: FormatRules = ANY_FORMAT) -> DataType | Mismatch:
    """The type that holds every value of both, which is `current` wherever that suffices, or why there is none.

    >>> str(widen(Integer(32), Integer(64)))
    'int64'
    """
    return _widen((), current, incoming, rules)


def storable(type_: DataType, rules: FormatRules) -> DataType | None:
    """The narrowest type of a format that holds every value of this one, or None where the format has none."""
    match type_:
        case Null():
            return type_ if rules.null_type else Text()
        case Integer():
            return _storable_integer(type_, rules)
        case Binary():
            return type_ if rules.fixed_binary else Binary()
        case Time(unit):
            finer = _storable_unit(unit, rules.time_of_day_units, rules)
            return Time(finer) if finer else None
        case Timestamp(unit, zone):
            finer = _storable_unit(unit, rules.zoned_timestamp_units if zone else UNITS, rules)
            return Timestamp(finer, zone) if finer else None
        case List(element):
            return List(inner) if (inner := storable(element, rules)) else None
        case Map(key, value):
            stored = storable(key, rules), storable(value, rules)
            return Map(stored[0], stored[1]) if stored[0] and stored[1] else None
        case Struct(()):
            return type_ if rules.empty_structs else None
        case Struct(fields):
            kept = [(field, storable(field.type, rules)) for field in fields]
            columns = tuple(replace(field, type=inner) for field, inner in kept if inner is not None)
            return Struct(columns) if len(columns) == len(fields) else None
        case _:
            return type_


def _storable_integer(type_: Integer, rules: FormatRules) -> DataType:
    if not type_.signed and not rules.unsigned_integers:
        if type_.bits == 64:
            return Decimal(20, 0)
        return _storable_integer(Integer(type_.bits * 2), rules)
    if type_.bits < 32 and not rules.small_integers:
        return Integer(32, type_.signed)
    return type_


def _storable_unit(unit: TimeUnit, units: tuple[TimeUnit, ...], rules: FormatRules) -> TimeUnit | None:
    """The coarsest of a format's units that is at least as fine."""
    coarsest = max(unit, rules.coarsest_time_unit, key=UNITS.index)
    finer = [candidate for candidate in UNITS[UNITS.index(coarsest) :] if candidate in units]
    return finer[0] if finer and (finer[0] != "ns" or rules.nanoseconds) else None


def _widen(path: Path, current: DataType, incoming: DataType, rules: FormatRules) -> DataType | Mismatch:
    match current, incoming:
        case (_, Null()):
            return current
        case (Null(), _):
            grown: DataType | str = incoming
        case (Struct(), Struct()):
            return _widen_struct(path, current, incoming, rules)
        case (List(before), List(after)):
            element = _widen((*path, ELEMENT), before, after, rules)
            return element if isinstance(element, Mismatch) else List(element)
        case (Map(), Map()):
            return _widen_map(path, current, incoming, rules)
        case _ if current == incoming:
            return current
        case _:
            grown = _widen_scalar(current, incoming, rules)
    if isinstance(grown, str):
        return Mismatch(path, current, incoming, grown)
    if grown == current:
        return current
    stored = storable(grown, rules)
    if stored is None:
        return Mismatch(path, current, incoming, f"the target's format cannot hold {grown}")
    return stored


def _widen_struct(path: Path, current: Struct, incoming: Struct, rules: FormatRules) -> DataType | Mismatch:
    arriving = {fold(field.name): field for field in incoming.fields}
    if len(arriving) < len(incoming.fields):
        return Mismatch(path, current, incoming, "two fields of the new data differ only in case")
    fields: list[Column] = []
    for field in current.fields:
        partner = arriving.pop(fold(field.name), None)
        if partner is None:
            fields.append(replace(field, nullable=True))
            continue
        inner = _widen((*path, field.name), field.type, partner.type, rules)
        if isinstance(inner, Mismatch):
            return inner
        fields.append(replace(field, type=inner, nullable=field.nullable or partner.nullable))
    for field in arriving.values():
        stored = storable(field.type, rules)
        if stored is None:
            return Mismatch((*path, field.name), current, field.type, f"the target's format cannot hold {field.type}")
        # Rows that are there already have no value for it.
        fields.append(replace(field, type=stored, nullable=True))
    return Struct(tuple(fields))


def _widen_map(path: Path, current: Map, incoming: Map, rules: FormatRules) -> DataType | Mismatch:
    key = _widen((*path, KEY), current.key, incoming.key, rules)
    if isinstance(key, Mismatch):
        return key
    if isinstance(current.key, Struct) and key != current.key:
        return Mismatch((*path, KEY), current.key, incoming.key, "a field more would change which keys are equal")
    if key != current.key and not rules.map_keys_may_grow:
        return Mismatch((*path, KEY), current.key, incoming.key, "the target's format cannot change the keys of a map")
    value = _widen((*path, VALUE), current.value, incoming.value, rules)
    return value if isinstance(value, Mismatch) else Map(key, value)


def _widen_scalar(current: DataType, incoming: DataType, rules: FormatRules) -> DataType | str:
    """The wider of two different scalars, or the reason why there is none."""
    match current, incoming:
        case (Integer(), Integer()):
            return _widen_integers(current, incoming)
        case (Float(before), Float(after)):
            return Float(max(before, after))
        case (Decimal(), Decimal()):
            return _widen_decimals(current, incoming, rules)
        case (Integer(), Decimal()):
            if not rules.integer_to_decimal:
                return "the target's format cannot turn an integer column into decimals"
            return _widen_decimals(_as_decimal(current), incoming, ANY_FORMAT)
        case (Decimal(), Integer()):
            return _widen_decimals(current, _as_decimal(incoming), rules)
        case (Integer(), Float(bits)):
            if not rules.integer_to_float:
                return "the target's format cannot turn an integer column into floating point"
            return _widen_to_float(current, bits)
        case (Float(bits), Integer()):
            return _widen_to_float(incoming, bits)
        case (Binary(width), Binary()):
            if width is not None and not rules.fixed_binary_may_grow:
                return "the target's format cannot turn binary values of one length into such of any"
            return Binary()
        case (Time(before), Time(after)):
            return Time(max(before, after, key=UNITS.index))
        case (Timestamp(), Timestamp()):
            if (current.zone is None) != (incoming.zone is None):
                return "one has a time zone and the other has none"
            # The same instants, whatever the zone they are shown in: the target's stays.
            return Timestamp(max(current.unit, incoming.unit, key=UNITS.index), current.zone)
        case (Date(), Timestamp()):
            if not rules.date_to_timestamp:
                return "the target's format cannot turn a column of dates into timestamps"
            return _holding_days(incoming)
        case (Timestamp(), Date()):
            return _holding_days(current)
        case _:
            return "no type holds the values of both"


def _holding_days(moment: Timestamp) -> DataType | str:
    """A day becomes its first moment, of which a cast makes the same day again."""
    return "a date has no time zone and the other has one" if moment.zone is not None else moment


def _widen_integers(current: Integer, incoming: Integer) -> DataType | str:
    if current.signed == incoming.signed:
        return Integer(max(current.bits, incoming.bits), current.signed)
    signed, unsigned = (current, incoming) if current.signed else (incoming, current)
    bits = max(signed.bits, unsigned.bits * 2)
    return Integer(bits) if bits <= 64 else "no integer type holds the values of both"


def _widen_decimals(current: Decimal, incoming: Decimal, rules: FormatRules) -> DataType | str:
    scale = max(current.scale, incoming.scale)
    digits = max(current.precision - current.scale, incoming.precision - incoming.scale)
    if digits + scale > MAX_DECIMAL_DIGITS:
        return f"{digits} digits before and {scale} after the point are more than {MAX_DECIMAL_DIGITS}"
    if scale > current.scale and not rules.decimal_scale_may_grow:
        return "the target's format cannot change a decimal's scale"
    return Decimal(digits + scale, scale)


def _as_decimal(type_: Integer) -> Decimal:
    largest = 2 ** (type_.bits - 1 if type_.signed else type_.bits)
    return Decimal(len(str(largest)), 0)


def _widen_to_float(integer: Integer, bits: int) -> DataType | str:
    magnitude = integer.bits - 1 if integer.signed else integer.bits
    for candidate, mantissa in _MANTISSA_BITS.items():
        if candidate >= bits and magnitude <= mantissa:
            return Float(candidate)
    return "a floating-point number does not hold every value of the integer"
