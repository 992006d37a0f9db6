"""Which large files of a delivery are read by one task each, however many workers there are: `lakebed plan` says it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from lakebed.engines.shared.packs import large_files
from lakebed.kernels.gzip_members import GLANCE_BYTES, may_hold_members
from lakebed.model import SourceFile
from lakebed.source.header import count_members
from lakebed.storage import Storage

_AT_ONCE = 16


def describe_one_task_files(files: Sequence[SourceFile], storage: Storage) -> tuple[str, ...]:
    """A line for each of them, the largest first. Of each file no more is read than its header takes."""
    large = sorted((files[position] for position in large_files(files)), key=lambda file: -file.size_bytes)
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        reasons = list(pool.map(lambda file: _reason(file, storage), large))
    return tuple(
        f"{file.key.rsplit('/', 1)[-1]}, {_size(file.size_bytes)}: {reason}"
        for file, reason in zip(large, reasons, strict=True)
        if reason is not None
    )


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e9:,.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:,.1f} MB"


def _reason(file: SourceFile, storage: Storage) -> str | None:
    if file.compression == "gzip":
        # Members that are longer are found by the load.
        if may_hold_members(storage.read_range(file.uri, 0, GLANCE_BYTES)):
            return None
        return "gzip is read by one task, unless it has several members"
    if file.compression == "zip" and count_members(file, storage) == 1:
        return "the one file in the ZIP is read by one task"
    return None
