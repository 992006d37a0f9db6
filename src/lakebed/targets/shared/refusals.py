"""What every target refuses alike."""

from lakebed.errors import ColumnDropRefused, ConcurrentModification, NotFound, TargetError
from lakebed.schema.types import Schema


def require_no_column_lost(address: str, current: Schema, final: Schema) -> None:
    """Raises ColumnDropRefused where a commit would leave a table without a column that it has."""
    if lost := [name for name in current.names if name not in final]:
        raise ColumnDropRefused(table=address, columns=lost)


def no_such_table(address: str, *, where: str = "") -> NotFound:
    """There is nothing to read at this address."""
    return NotFound(
        f"there is no table {address}{f' in {where}' if where else ''}",
        uri=address,
        remedy="Check the address and the work directory; `lakebed run` and `lakebed merge` create tables.",
    )


def unreadable_log(address: str, place: str, error: ValueError) -> TargetError:
    """What a table says of its loads is not what we wrote."""
    return TargetError(
        f"{place} of {address} is not a log of loads: {error}",
        remedy="Something else wrote it: restore it, or remove it; then nothing tells what the table held on a day.",
    )


def changed_since_read(address: str) -> ConcurrentModification:
    """Another writer committed between the plan and the commit."""
    return ConcurrentModification(
        f"{address} has changed since it was read",
        remedy="Nothing was committed. Read the table again and repeat the change.",
    )
