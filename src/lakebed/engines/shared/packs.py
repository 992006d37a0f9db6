"""Which source files a task takes: one that is large alone, many that are small together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakebed.model import FilePart, SourceFile

PACK_BYTES = 128 << 20
# Plain CSV of more than two parts of this size is read by several tasks.
PART_BYTES = 128 << 20
# Few small files are still spread over some tasks: workers are there to be used.
FEWEST_TASKS = 8
# What opening a file costs, in bytes that could be read meanwhile; and how much text a packed byte is.
_OPENING_BYTES = 256 << 10
_UNPACKED_TIMES = 5


def pack_files(files: Sequence[SourceFile]) -> list[list[int]]:
    """Positions of the files, task by task, the heaviest task first. The order of the files decides nothing."""
    weights = [_weight(file) for file in files]
    limit = min(PACK_BYTES, max(1, sum(weights) // FEWEST_TASKS))
    packs: list[list[int]] = []
    filled = limit
    for position in sorted(range(len(files)), key=lambda one: (-weights[one], files[one].uri, one)):
        if filled + weights[position] > limit:
            packs.append([])
            filled = 0
        packs[-1].append(position)
        filled += weights[position]
    return packs


def large_files(files: Sequence[SourceFile]) -> list[int]:
    """Positions of the files that several tasks could read: plain CSV, whose bytes are UTF-8."""
    return [
        position
        for position, file in enumerate(files)
        if file.content == "csv"
        and file.compression == "none"
        and file.part is None
        and file.size_bytes > 2 * PART_BYTES
        and (file.dialect is None or file.dialect.encoding == "utf-8")
    ]


def split_files(files: Sequence[SourceFile], cuts: Mapping[int, Sequence[FilePart]]) -> tuple[SourceFile, ...]:
    """The files, with the parts of those that are cut in their places."""
    found: list[SourceFile] = []
    for position, file in enumerate(files):
        parts = cuts.get(position, ())
        if len(parts) < 2:
            found.append(file)
        else:
            found += [replace(file, part=part, size_bytes=part.end - part.start) for part in parts]
    return tuple(found)


def _weight(file: SourceFile) -> int:
    return _OPENING_BYTES + file.size_bytes * (1 if file.compression == "none" else _UNPACKED_TIMES)
