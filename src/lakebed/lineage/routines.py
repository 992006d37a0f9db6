"""The heads of procedures, functions and triggers: their names, parameters, languages, and where their bodies begin."""

from collections.abc import Iterator

from sqlglot.tokenizer_core import TokenType

from lakebed.lineage.tables import NamePart
from lakebed.lineage.tokens_view import TokensView

# Words that begin a statement of a body.
STATEMENTS = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "CREATE", "DROP", "ALTER", "TRUNCATE", "REPLACE", "CALL"}
)
SQL_LANGUAGES = frozenset({"SQL", "PLPGSQL", "PLSQL", "TSQL"})
_MODES = frozenset({"IN", "OUT", "INOUT", "VARIADIC"})
_EXECUTE_AS = frozenset({"CALLER", "OWNER", "SELF"})


def name_and_end(view: TokensView, kind: int) -> tuple[str, int]:
    """The last part of a routine's name, and the place after it; `kind` is the place of PROCEDURE."""
    at = kind + 1
    while view.word(at) in ("BODY", "IF", "NOT", "EXISTS"):
        at += 1
    parts, after = view.dotted_name(at)
    return (parts[-1].text.lower(), after) if parts else ("", at + 1)


def is_call(view: TokensView, place: int) -> bool:
    """PL/SQL calls a procedure by its name: `pkg.load(1);`."""
    if view.tokens[place].token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
        return False
    _, after = view.dotted_name(place)
    if view.word(after) == "(":
        after = view.after(after)
    return view.word(after) == ";"


def end_of_inline_functions(view: TokensView, place: int) -> int | None:
    """Trino's WITH FUNCTION f(...) ... BEGIN ... END SELECT: where the query begins; None where no body has a BEGIN."""
    opened = 0
    begun = False
    at = place
    while at < len(view):
        word, after = view.words[at], view.word(at + 1)
        if word in ("BEGIN", "CASE"):
            opened += 1
            begun = begun or word == "BEGIN"
        elif word == "END":
            if after in ("IF", "LOOP", "WHILE", "REPEAT", "FOR"):
                at += 1
            else:
                opened -= 1
                at += after == "CASE"
                if begun and opened <= 0 and view.word(at + 1) != ",":
                    return at + 1
        elif word == ";" and not opened:
            return None
        at += 1
    return None


def parameters(view: TokensView, start: int, end: int) -> Iterator[str]:
    """The names in `(IN a INT, b OUT TEXT)`."""
    place, fresh = start, True
    while place < end:
        if fresh and view.words[place] not in _MODES and view.is_name(place):
            yield view.tokens[place].text.lower()
            fresh = False
        if view.words[place] == ",":
            fresh = True
        place = view.after(place)


def trigger_table(view: TokensView, at: int) -> tuple[NamePart, ...] | None:
    """The table in `AFTER INSERT ON t`."""
    on = view.find(at, ("ON",), (";", "BEGIN", "AS"))
    if on is None:
        return None
    parts, _ = view.dotted_name(on + 1)
    return parts or None


def body_start(view: TokensView, at: int) -> int | None:
    """Where a body begins: the text after AS, BEGIN, RETURN, the declarations after IS, or a single statement."""
    while at < len(view) and view.words[at] != ";":
        word = view.words[at]
        if word in ("AS", "IS"):
            after = view.word(at + 1)
            if view.is_string(at + 1) or after in STATEMENTS or after in ("BEGIN", "RETURN", "DECLARE"):
                return at + 1
            if after == "TABLE" or after in _EXECUTE_AS:
                at += 1
            else:
                return at
        elif word in ("BEGIN", "RETURN") or (word in STATEMENTS and _is_single_statement(view, at)):
            return at
        at = view.after(at)
    return None


def _is_single_statement(view: TokensView, at: int) -> bool:
    """A statement right after the head, as MySQL and triggers have it; `AFTER INSERT OR UPDATE ON` is none."""
    if view.words[at] == "WITH" or view.word(at - 1) in ("AFTER", "BEFORE", "OF", "OR", ",", "FOR", "WITH"):
        return False
    return view.word(at + 1) not in ("ON", "OR", ",", "OF")


def language_of(view: TokensView, start: int) -> str | None:
    """The language that the head names."""
    place = view.find(start, ("LANGUAGE",), (";", "BEGIN", "SELECT"))
    if place is None or place + 1 >= len(view):
        return None
    token = view.tokens[place + 1]
    quoted = view.is_string(place + 1) or token.token_type is TokenType.IDENTIFIER
    return token.text.upper() if quoted else view.word(place + 1)
