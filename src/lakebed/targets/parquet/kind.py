"""`parquet:FOLDER`: how a folder of Parquet files is written and opened."""

from lakebed.storage import SCHEMES, absolute, unknown_scheme
from lakebed.targets.address import Address, with_absolute_place
from lakebed.targets.base import Target
from lakebed.targets.registry import Opening, TargetKind


def read(text: str) -> Address:
    if "://" in text and (scheme := unknown_scheme(text)) is not None:
        raise ValueError(f"{scheme}:// is no storage; there are {', '.join(f'{one}://' for one in SCHEMES)} and paths")
    return Address("parquet", text)


def write(address: Address) -> str:
    return address.place


def open_(address: Address, opening: Opening) -> Target:
    from lakebed.targets.parquet.target import ParquetTarget

    return ParquetTarget(absolute(address.place), opening.storage, read_only=opening.read_only)


KIND = TargetKind(
    name="parquet",
    form="parquet:FOLDER",
    table_form="parquet:FOLDER",
    read=read,
    write=write,
    open=open_,
    recorded=with_absolute_place,
    always_one_table=True,
    data_at_place=True,
)
