"""How names compare: one key per name, equal exactly when the dialect says that two spellings mean the same thing."""

from collections.abc import Callable
from dataclasses import dataclass

from lakebed.lineage.dialects import Case, Dialect

CaseFold = Callable[[str, bool], str]


def _insensitive(text: str, quoted: bool) -> str:
    return text.lower()


def _lower(text: str, quoted: bool) -> str:
    return text if quoted else text.lower()


def _upper(text: str, quoted: bool) -> str:
    return text if quoted else text.upper()


def _exact(text: str, quoted: bool) -> str:
    return text


_KEY_FOLDS: dict[Case, CaseFold] = {"insensitive": _insensitive, "lower": _lower, "upper": _upper, "exact": _exact}
# What a name is shown as: folding dialects store the folded spelling, the others keep what was written.
_SPELLING_FOLDS: dict[Case, CaseFold] = {"insensitive": _exact, "lower": _lower, "upper": _upper, "exact": _exact}


@dataclass(frozen=True, slots=True)
class NameRules:
    """Keys and spellings of tables and columns under one dialect, or under the request's `caseSensitivity`."""

    table_key: CaseFold
    column_key: CaseFold
    table_spelling: CaseFold
    column_spelling: CaseFold
    # whether an unquoted column name is another name than the same text in quotes
    folds: bool


def name_rules(dialect: Dialect, case_sensitivity: str | None = None) -> NameRules:
    """The rules of a dialect; `exact`, `lower`, `upper` or `insensitive` overrule them, `dialect` does not."""
    tables, columns = dialect.tables, dialect.columns
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
