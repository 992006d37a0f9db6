"""Where a large CSV file can be read from by another task: at the ends of records, which a scan of its quotes finds.

The scan reads the file once, at the speed of a search for quotes and newlines; typing the values takes many times as
long. It follows the very blocks that the conversion reads, so that both agree on where a record ends.

The text of a gzip file can be unpacked from the beginning of each of its members. The scan unpacks it all, which is
fast too, and so no boundary is guessed. The files in a ZIP are found by its directory, and are read apart anyway.
"""

import zipfile
from dataclasses import dataclass
from typing import IO, cast

from lakebed.errors import LakebedError
from lakebed.kernels.archives import data_members
from lakebed.kernels.blocks import COMMAS, BlockReader, Misaligned
from lakebed.kernels.gzip_members import LOOK_BYTES, MemberStream, may_hold_members
from lakebed.kernels.limits import Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import Gauge, corruption_as_source_error, open_packed
from lakebed.model import ArchivePart, Dialect, FilePart, GzipMember, SourceFile


@dataclass(frozen=True)
class CutTasks:
    """A task scans one file; parts have at least so many bytes of text. None where one task reads it as well."""

    files: tuple[SourceFile, ...]
    storage: StorageSettings
    limits: Limits
    part_bytes: int

    def __call__(self, number: int) -> tuple[FilePart, ...] | tuple[ArchivePart, ...]:
        source = self.files[number]
        try:
            with corruption_as_source_error(source), open_packed(source, self.storage) as file:
                if source.compression == "zip":
                    return self._cut_archive(file, source)
                if source.compression == "gzip":
                    return self._cut_members(file, source)
                return cut(file, source.key, source.dialect or COMMAS, self.limits, self.part_bytes)
        except (LakebedError, Misaligned, OSError):
            # Whoever converts the file finds the same, and says it better.
            return ()

    def _cut_members(self, file: IO[bytes], source: SourceFile) -> tuple[FilePart, ...]:
        start = file.read(LOOK_BYTES)
        if not may_hold_members(start):
            return ()
        del start
        file.seek(0)
        members = MemberStream(file)
        text = Gauge(source, self.limits).watch(cast(IO[bytes], members))
        return cut(text, source.key, source.dialect or COMMAS, self.limits, self.part_bytes, members=members)

    def _cut_archive(self, file: IO[bytes], source: SourceFile) -> tuple[ArchivePart, ...]:
        with zipfile.ZipFile(file) as archive:
            sizes = [member.file_size for member in data_members(archive, key=source.key)]
        # As long as it says: a reader takes no more of a member, and tasks do not see what others unpack.
        self.limits.require_unpacked(sum(sizes), source.size_bytes, source.key)
        parts: list[ArchivePart] = []
        first = filled = 0
        for stop, size in enumerate(sizes, start=1):
            filled += size
            if filled >= self.part_bytes or stop == len(sizes):
                parts.append(ArchivePart(first, stop, filled))
                first, filled = stop, 0
        return tuple(parts)


def cut(
    stream: IO[bytes],
    key: str,
    dialect: Dialect,
    limits: Limits,
    part_bytes: int,
    *,
    members: MemberStream | None = None,
) -> tuple[FilePart, ...]:
    """The parts of a text, which together are all of it; each is unpacked from another member, if it has `members`.

    Raises Misaligned where quotes must be followed one by one.
    """
    reader = BlockReader(stream, key=key, exact=False, limits=limits, dialect=dialect)
    header = reader.offset
    begins = [_Begin(0, 1, None if members is None else GzipMember())]
    for _ in reader:
        member = None if members is None else members.member_at(reader.offset)
        if reader.offset - begins[-1].start >= part_bytes and (member is None or member != begins[-1].member):
            begins.append(_Begin(reader.offset, reader.line, member))
    size = reader.offset
    if len(begins) > 1 and begins[-1].start >= size:
        begins.pop()
    ends = [*(begin.start for begin in begins[1:]), size]
    return tuple(
        FilePart(begin.start, end, header, begin.line, begin.member) for begin, end in zip(begins, ends, strict=True)
    )


@dataclass(frozen=True)
class _Begin:
    start: int
    line: int
    member: GzipMember | None
