"""Which field of a file is which column of the plan, and whether the file has the columns that it must have."""

from collections.abc import Collection, Iterable, Sequence

from lakebed.errors import HeaderError, UnplannedColumns

# What other programs separate fields with. A header that is one column with these in it was not read as it was meant.
_OTHER_SEPARATORS = {";": "semicolon", "\t": "tab", "|": "bar"}


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


def refuse_other_separators(header: Sequence[str], *, file: str) -> None:
    """Raises HeaderError where the fields of a CSV are separated by something else than commas."""
    for mark, word in _OTHER_SEPARATORS.items():
        if len(header) == 1 and (count := header[0].count(mark)):
            raise HeaderError(
                f"the header is one column that holds {count} {word}{'s' if count > 1 else ''}: "
                f"is the file separated by {word}s?",
                file=file,
                remedy="Write the file again, separated by commas.",
            )


def require_columns(originals: Iterable[str], required: Collection[str], *, file: str) -> None:
    """Raises HeaderError with the required originals that are not among the file's, which are distinct."""
    present = set(originals)
    if lacking := [original for original in required if original not in present]:
        shown = ", ".join(lacking[:5]) + (f" and {len(lacking) - 5} more" if len(lacking) > 5 else "")
        raise HeaderError(
            f"{len(lacking)} of the {len(required)} columns that every file of this delivery must have are missing: "
            f"{shown}",
            file=file,
            remedy="Ask for the delivery again. With --allow-missing COLUMN for each of them they are loaded as NULL.",
        )


def match_header(
    header: Sequence[str], columns: Sequence[tuple[str, str]], *, file: str, required: Collection[str] = ()
) -> tuple[list[str], tuple[str, ...]]:
    """The table's name for each field of the header, and the planned originals that the file lacks.

    Raises HeaderError where one of those is required, and UnplannedColumns with the originals that the plan lacks.
    Order means nothing.
    """
    planned = dict(columns)
    originals = distinct_originals(header)
    require_columns(originals, required, file=file)
    if unknown := [original for original in originals if original not in planned]:
        raise UnplannedColumns(file=file, names=unknown)
    present = set(originals)
    missing = tuple(original for original in planned if original not in present)
    return [planned[original] for original in originals], missing
