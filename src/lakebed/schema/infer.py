"""Types from what values were seen to be: the narrowest that holds all of them to the last letter, else text.

Numbers grow from int32 to int64 to decimal to text. What is text in a file never becomes a number by guessing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lakebed.kernels.evidence import BOOLEAN, DATE, LIST, MOMENT, NUMBER, OBJECT, TIME, Evidence
from lakebed.model import Digits
from lakebed.schema.arrow import from_arrow
from lakebed.schema.types import (
    Boolean,
    Column,
    DataType,
    Date,
    Decimal,
    Integer,
    List,
    Map,
    Null,
    Struct,
    Text,
    Timestamp,
    fold,
)
from lakebed.schema.widen import FormatRules, Mismatch, widen

# Every whole number of so many digits has a decimal type.
_WHOLE = Decimal(38, 0)


@dataclass(frozen=True)
class Inferred:
    """The type of a column, and a value that kept it from being anything better than text."""

    type: DataType
    because: str | None = None


def infer_type(evidence: Evidence, digits: Digits, *, column: str | None = None) -> Inferred:
    """The type that holds all values that were seen; Null where there were none.

    >>> seen = Evidence()
    >>> for text in ("7", "1234567890123", "0.5"):
    ...     seen.see_text(text, Digits())
    >>> str(infer_type(seen, Digits()).type)
    'decimal(38,18)'
    """
    found = _from_values(evidence, digits)
    for declared in evidence.declared:
        found = _both(found, from_arrow(declared, column=column))
    # Only where numbers were seen too is it worth a word that some of the values are none.
    mixed = isinstance(found, Text) and NUMBER in evidence.kinds
    return Inferred(found, evidence.example if mixed else None)


def _from_values(evidence: Evidence, digits: Digits) -> DataType:
    match sorted(evidence.seen):
        case []:
            return Null()
        case [kind] if kind == BOOLEAN:
            return Boolean()
        case [kind] if kind == NUMBER:
            return _number(evidence, digits)
        case [kind] if kind == DATE:
            return Date()
        case [kind] if kind == MOMENT:
            return Timestamp("us", "UTC")
        case [kind] if kind == OBJECT:
            return _struct(evidence.fields, digits)
        case [kind] if kind == LIST:
            assert evidence.element is not None
            return List(_from_values(evidence.element, digits))
        case kinds if set(kinds) <= {DATE, TIME}:
            return Timestamp("us")
        case _:
            return Text()


def _number(evidence: Evidence, digits: Digits) -> DataType:
    if evidence.fraction:
        return Decimal(digits.precision, digits.scale) if evidence.fits else Text()
    if evidence.bits <= 64:
        return Integer(evidence.bits)
    return _WHOLE if evidence.bits == 128 else Text()


def _struct(fields: Mapping[str, Evidence], digits: Digits) -> DataType:
    names = [fold(name) for name in fields]
    if len(set(names)) < len(names) or "" in names:
        # No format holds such a struct; as text it loses nothing.
        return Text()
    return Struct(tuple(Column(name, _from_values(inner, digits)) for name, inner in fields.items()))


def _both(one: DataType, other: DataType) -> DataType:
    """What holds the values of both, in whichever order they come."""
    for first, second in ((one, other), (other, one)):
        wider = widen(first, second)
        if not isinstance(wider, Mismatch):
            return wider
    return Text()


def follow_table(present: DataType, inferred: DataType, rules: FormatRules) -> DataType:
    """The inferred type where the table can grow to hold it, else the table's own, into which values are then read.

    What grows inside a struct grows, though its neighbour cannot.
    """
    if not isinstance(widen(present, inferred, rules), Mismatch):
        return inferred
    match present, inferred:
        case (Struct(known), Struct(arriving)):
            names = {fold(one.name): one for one in known}
            return Struct(
                tuple(
                    Column(one.name, follow_table(names[fold(one.name)].type, one.type, rules))
                    if fold(one.name) in names
                    else one
                    for one in arriving
                )
            )
        case (List(known), List(arriving)):
            return List(follow_table(known, arriving, rules))
        case (Map(key, value), Map(_, arriving)):
            return Map(key, follow_table(value, arriving, rules))
        case _:
            return present
