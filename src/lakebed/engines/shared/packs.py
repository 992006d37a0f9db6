"""Which source files a task takes: one that is large alone, many that are small together."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lakebed.model import ArchivePart, FilePart, SourceFile

PACK_BYTES = 128 << 20
# CSV of more than two parts of this size is read by several tasks, if it can be.
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
    """Positions of the files that several tasks could read: large CSV files, plain, gzip or ZIP."""
    return [
        position
        for position, file in enumerate(files)
        if file.content == "csv"
        and file.part is None
        and _text_bytes(file) > 2 * PART_BYTES
        # The ends of records are looked for in UTF-8. The files in a ZIP are apart already.
        and (file.compression == "zip" or file.dialect is None or file.dialect.encoding == "utf-8")
    ]


def split_files(
    files: Sequence[SourceFile], cuts: Mapping[int, Sequence[FilePart | ArchivePart]]
) -> tuple[SourceFile, ...]:
    """The files, with the parts of those that are cut in their places."""
    found: list[SourceFile] = []
    for position, file in enumerate(files):
        parts = cuts.get(position, ())
        if len(parts) < 2:
            found.append(file)
        else:
            sizes = [part.end - part.start if isinstance(part, FilePart) else part.size_bytes for part in parts]
            text_bytes = max(1, sum(sizes))
            found += [
                # A part of a packed file has its share of the file's bytes.
                replace(file, part=part, size_bytes=size * file.size_bytes // text_bytes)
                for part, size in zip(parts, sizes, strict=True)
            ]
    return tuple(found)


def _text_bytes(file: SourceFile) -> int:
    return file.size_bytes * (1 if file.compression == "none" else _UNPACKED_TIMES)


def _weight(file: SourceFile) -> int:
    return _OPENING_BYTES + _text_bytes(file)
