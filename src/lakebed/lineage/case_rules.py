"""How names compare: one key per name, equal exactly when the dialect says that two spellings mean the same thing."""

from collections.abc import Callable
from dataclasses import dataclass

from lakebed.lineage.dialects import Case, Dialect

Key = Callable[[str, bool], str]


def _insensitive(text: str, quoted: bool) -> str:
    return text.lower()


def _lower(text: str, quoted: bool) -> str:
    return text if quoted else text.lower()


def _upper(text: str, quoted: bool) -> str:
    return text if quoted else text.upper()


def _exact(text: str, quoted: bool) -> str:
    return text


_KEYS: dict[Case, Key] = {"insensitive": _insensitive, "lower": _lower, "upper": _upper, "exact": _exact}
# What a name is shown as: folding dialects store the folded spelling, the others keep what was written.
_SPELLINGS: dict[Case, Key] = {"insensitive": _exact, "lower": _lower, "upper": _upper, "exact": _exact}


@dataclass(frozen=True, slots=True)
class NameRules:
    """Keys and spellings of tables and columns under one dialect, or under the request's `caseSensitivity`."""

    table_key: Key
    column_key: Key
    table_spelling: Key
    column_spelling: Key
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
        _KEYS[tables], _KEYS[columns], _SPELLINGS[tables], _SPELLINGS[columns], columns in ("lower", "upper")
    )
