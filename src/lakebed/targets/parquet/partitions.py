"""Hive partitions: values that lie in the path. Always text: '01' stays '01'."""

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

from lakebed.errors import TargetError
from lakebed.schema.types import fold

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark write as %XX; other characters stand for themselves.
_ESCAPED = frozenset([*map(chr, range(1, 32)), *"\"#%'*/:=?\\\x7f{[]^"])


def partition_folder(partition_by: Sequence[str], partition: Mapping[str, str | None]) -> str:
    """`year=2026/tag=a%3Ab`, with `__HIVE_DEFAULT_PARTITION__` for NULL; empty for a table without partitions."""
    values = {fold(name): value for name, value in partition.items()}
    return "/".join(f"{_escape(name)}={_value(name, values.get(fold(name)))}" for name in partition_by)


def partition_of(path: str) -> dict[str, str | None]:
    """The partition values in a path below the dataset."""
    found: dict[str, str | None] = {}
    for segment in path.split("/")[:-1]:
        name, equals, value = segment.partition("=")
        if equals:
            found[unquote(name)] = None if value == NULL_PARTITION else unquote(value)
    return found


def is_data_file(path: str) -> bool:
    """A Parquet file that every reader of the dataset reads: neither it nor a folder above it is hidden.

    As in Spark, `_name=value` is a partition and not hidden.
    """
    if not path.casefold().endswith(".parquet"):
        return False
    *folders, name = path.split("/")
    return not name.startswith((".", "_")) and not any(
        folder.startswith(".") or (folder.startswith("_") and "=" not in folder) for folder in folders
    )


def _value(name: str, value: str | None) -> str:
    if value is None:
        return NULL_PARTITION
    if value in ("", NULL_PARTITION):
        # Hive and Spark write both as NULL, which would lose the value.
        raise TargetError(
            f"column {name}: the value {value!r} cannot be a partition: readers would take it for NULL",
            remedy="Replace it in the source, or partition by another column.",
        )
    return _escape(value)


def _escape(text: str) -> str:
    return "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in text)
