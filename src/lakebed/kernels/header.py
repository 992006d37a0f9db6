"""Which field of a file is which column of the plan."""

from collections.abc import Iterable, Sequence

from lakebed.errors import UnplannedColumns


def distinct_originals(header: Iterable[str]) -> list[str]:
    """The header with repeated entries made distinct: `a`, `a` is `a`, `a#2`. Each is an original of its own."""
    seen: set[str] = set()
    distinct = []
    for original in header:
        name, count = original, 1
        while name in seen:
            count += 1
            name = f"{original}#{count}"
        seen.add(name)
        distinct.append(name)
    return distinct


def match_header(
    header: Sequence[str], columns: Sequence[tuple[str, str]], *, file: str
) -> tuple[list[str], tuple[str, ...]]:
    """The table's name for each field of the header, and the planned originals that the file lacks.

    Raises UnplannedColumns with the originals that the plan lacks. Order means nothing.
    """
    planned = dict(columns)
    originals = distinct_originals(header)
    if unknown := [original for original in originals if original not in planned]:
        raise UnplannedColumns(file=file, names=unknown)
    present = set(originals)
    missing = tuple(original for original in planned if original not in present)
    return [planned[original] for original in originals], missing
