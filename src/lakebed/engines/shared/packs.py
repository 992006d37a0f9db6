"""Which source files a task takes: one that is large alone, many that are small together."""

from collections.abc import Sequence

from lakebed.model import SourceFile

PACK_BYTES = 128 << 20
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


def _weight(file: SourceFile) -> int:
    return _OPENING_BYTES + file.size_bytes * (1 if file.compression == "none" else _UNPACKED_TIMES)
