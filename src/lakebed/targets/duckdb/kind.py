"""`duckdb:FILE[#TABLE]`: how a table in a DuckDB file is written and opened."""

from lakebed.storage import absolute
from lakebed.targets.address import Address, with_absolute_place
from lakebed.targets.base import Target
from lakebed.targets.registry import Opening, TargetKind


def read(text: str) -> Address:
    if "://" in text:
        raise ValueError("a DuckDB file lies on a local disk")
    place, mark, table = text.rpartition("#")
    if not mark:
        return Address("duckdb", text)
    if not place or not table:
        raise ValueError("the file or the table beside # is missing")
    return Address("duckdb", place, table)


def write(address: Address) -> str:
    return address.place if address.table is None else f"{address.place}#{address.table}"


def open_(address: Address, opening: Opening) -> Target:
    from lakebed.targets.duckdb.target import DuckDBTarget

    return DuckDBTarget(absolute(address.place), address.table or "", storage=opening.storage, staging=opening.staging)


KIND = TargetKind(
    name="duckdb",
    form="duckdb:FILE[#TABLE]",
    table_form="duckdb:FILE#TABLE",
    read=read,
    write=write,
    open=open_,
    recorded=with_absolute_place,
    keeps_views=True,
)
