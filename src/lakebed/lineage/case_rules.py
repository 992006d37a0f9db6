"""Case rules of names: two spellings mean the same name under a dialect exactly if their keys are equal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakebed.errors import LineageError
from lakebed.lineage.dialects import Case, Dialect

# A name's text and whether it was quoted -> its key, or the spelling that is shown.
CaseFold = Callable[[str, bool], str]


def _insensitive(text: str, quoted: bool) -> str:
    return text.lower()


def _lower(text: str, quoted: bool) -> str:
    return text if quoted else text.lower()


def _upper(text: str, quoted: bool) -> str:
    return text if quoted else text.upper()


def _exact(text: str, quoted: bool) -> str:
    return text


def fold_all(fold: CaseFold, names: Sequence[str]) -> list[str]:
    """The keys of names that were not quoted: a schema has thousands, and a call for each would be most of the cost."""
    if fold is _insensitive or fold is _lower:
        return [name.lower() for name in names]
    if fold is _upper:
        return [name.upper() for name in names]
    return list(names)


_KEY_FOLDS: dict[Case, CaseFold] = {"insensitive": _insensitive, "lower": _lower, "upper": _upper, "exact": _exact}
# How a name is shown: folding dialects store the folded spelling, the others keep what was written.
_SPELLING_FOLDS: dict[Case, CaseFold] = {"insensitive": _exact, "lower": _lower, "upper": _upper, "exact": _exact}


@dataclass(frozen=True, slots=True)
class NameRules:
    """Keys and spellings of tables and columns under one dialect, or under the request's `caseSensitivity`."""

    table_key: CaseFold
    column_key: CaseFold
    table_spelling: CaseFold
    column_spelling: CaseFold
    # whether quotes can make another name of the same text
    folds: bool


# What the request's `caseSensitivity` may be.
CASE_SENSITIVITIES = ("dialect", "exact", "lower", "upper", "insensitive")


def name_rules(dialect: Dialect, case_sensitivity: str | None = None) -> NameRules:
    """The rules of a dialect, unless the request's `caseSensitivity` says otherwise."""
    tables, columns = dialect.tables, dialect.columns
    if case_sensitivity is not None and case_sensitivity not in CASE_SENSITIVITIES:
        raise LineageError(
            f"schema: caseSensitivity is {case_sensitivity!r}", remedy=f"Choose one of {', '.join(CASE_SENSITIVITIES)}."
        )
    if case_sensitivity == "exact":
        tables = columns = "exact"
    elif case_sensitivity in ("lower", "upper", "insensitive"):
        tables = columns = "insensitive"
    return NameRules(
        _KEY_FOLDS[tables],
        _KEY_FOLDS[columns],
        _SPELLING_FOLDS[tables],
        _SPELLING_FOLDS[columns],
        columns in ("lower", "upper"),
    )
