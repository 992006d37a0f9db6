"""Types in Iceberg's words: what has none is refused by name, with its column, wherever it lies."""

import pytest

from lakebed.errors import UnsupportedType
from lakebed.schema.iceberg import from_iceberg, to_iceberg
from lakebed.schema.types import Column, DataType, Float, List, Map, Struct, Text, Time, Timestamp


@pytest.mark.parametrize("type_", [Float(16), Time("ns"), Timestamp("ns")])
@pytest.mark.parametrize("inside", ["itself", "list", "map", "struct"])
def test_a_type_that_iceberg_lacks_is_refused(type_: DataType, inside: str) -> None:
    given: dict[str, DataType] = {
        "itself": type_,
        "list": List(type_),
        "map": Map(Text(), type_),
        "struct": Struct((Column("x", type_),)),
    }
    with pytest.raises(UnsupportedType) as refused:
        to_iceberg(given[inside], column="c")
    assert str(type_) in refused.value.type_name
    assert (refused.value.column or "").startswith("c")


@pytest.mark.parametrize("said", ["banana", "decimal(x, 2)", {"type": "banana"}, {"type": "struct", "fields": 7}, None])
def test_what_is_no_type_of_iceberg_is_refused(said: object) -> None:
    with pytest.raises(UnsupportedType):
        from_iceberg(said, column="c")
