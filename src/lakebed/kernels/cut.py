"""Where a large CSV file can be read from by another task: at the ends of records, which a scan of its quotes finds.

The scan reads the file once, at the speed of a search for quotes and newlines; typing the values takes many times as
long. It follows the very blocks that the conversion reads, so that both agree on where a record ends.
"""

from dataclasses import dataclass
from typing import IO

from lakebed.errors import LakebedError
from lakebed.kernels.blocks import COMMAS, BlockReader, Misaligned
from lakebed.kernels.limits import Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import corruption_as_source_error, open_streams
from lakebed.model import Dialect, FilePart, SourceFile


@dataclass(frozen=True)
class CutTasks:
    """A task scans one file; parts have at least so many bytes. None where it is better read by one task."""

    files: tuple[SourceFile, ...]
    storage: StorageSettings
    limits: Limits
    part_bytes: int

    def __call__(self, number: int) -> tuple[FilePart, ...]:
        source = self.files[number]
        try:
            streams = open_streams(source, self.storage, self.limits)
            with corruption_as_source_error(source):
                return cut(next(streams), source.key, source.dialect or COMMAS, self.limits, self.part_bytes)
        except (LakebedError, Misaligned, OSError):
            # Whoever converts the file finds the same, and says it better.
            return ()


def cut(stream: IO[bytes], key: str, dialect: Dialect, limits: Limits, part_bytes: int) -> tuple[FilePart, ...]:
    """The parts of a file, which together are all of it. Raises Misaligned where quotes must be followed one by one."""
    reader = BlockReader(stream, key=key, exact=False, limits=limits, dialect=dialect)
    header = reader.offset
    begins = [(0, 1)]
    for _ in reader:
        if reader.offset - begins[-1][0] >= part_bytes:
            begins.append((reader.offset, reader.line))
    size = reader.offset
    if len(begins) > 1 and begins[-1][0] >= size:
        begins.pop()
    ends = [*(start for start, _ in begins[1:]), size]
    return tuple(FilePart(start, end, header, line) for (start, line), end in zip(begins, ends, strict=True))
