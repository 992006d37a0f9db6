"""A second try for statements that the parser does not know as a whole: the same without clauses that move no data.

Storage, logging, partitions, constraints and error logs say nothing about columns. What is left is the name, the
columns and the query, with tokens where they stood.
"""

from collections.abc import Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from lakebed.lineage.named_tables import without_data_words
from lakebed.lineage.tokens_view import TokensView

_NO_COLUMNS = frozenset(
    {"CONSTRAINT", "PRIMARY KEY", "PRIMARY", "FOREIGN KEY", "FOREIGN", "UNIQUE", "CHECK", "INDEX", "KEY", "LIKE"}
    | {"PERIOD", "EXCLUDE", "SUPPLEMENTAL", "FULLTEXT", "SPATIAL", "PROJECTION", ")"}
)
_TAILS = (("LOG", "ERRORS"), ("WITH", "READ", "ONLY"), ("WITH", "DATA"), ("WITH", "NO", "DATA"), ("REJECT", "LIMIT"))


def simplified(tokens: Sequence[Token], text: str) -> Iterator[list[Token]]:
    """Shorter forms of a statement, the longest first."""
    view = TokensView(tokens, text)
    first = view.word(0)
    if "ESCAPE" in view.words:
        yield _with_escapes(view)
    end = _without_tail(view)
    if first == "CREATE":
        yield from _create(view, end)
    elif first == "TRUNCATE":
        name = 2 if view.word(1) == "TABLE" else 1
        yield list(tokens[: view.dotted_name(name)[1]])
    elif first == "MERGE":
        yield _merge(view, end)
    elif end < len(view):
        yield list(tokens[:end])


def _with_escapes(view: TokensView) -> list[Token]:
    """`a LIKE b ESCAPE (c)` as `a LIKE b || (c)`: whatever the sign does, all three are read."""
    found = list(view.tokens)
    for place, word in enumerate(view.words):
        if word == "ESCAPE" and not view.is_string(place + 1):
            at = found[place]
            found[place] = Token(TokenType.DPIPE, "||", at.line, at.col, at.start, at.end)
    return found


def _without_tail(view: TokensView) -> int:
    """The place where clauses behind the query begin."""
    ends = [
        place
        for tail in _TAILS
        for place in range(1, len(view) - len(tail) + 1)
        if tuple(view.words[place : place + len(tail)]) == tail
    ]
    return min(ends, default=len(view))


def _create(view: TokensView, end: int) -> Iterator[list[Token]]:
    """CREATE TABLE t (columns) AS query: what stands between is left out, then also what follows a column's type."""
    kind = next((place for place in range(1, min(end, 10)) if view.words[place] in ("TABLE", "VIEW")), None)
    if kind is None or without_data_words(view.words[:kind]) is not None or view.words[kind - 1] in ("ON", "FOR", "OF"):
        # CREATE INDEX ... ON TABLE t is about t, and makes none
        return
    tokens = view.tokens
    temporary = [token for token in tokens[1:kind] if token.text.upper() in ("TEMPORARY", "TEMP")]
    name = kind + 1
    while view.word(name) in ("IF", "NOT", "EXISTS"):
        name += 1
    after = view.dotted_name(name)[1]
    head = [tokens[0], *temporary, tokens[kind], *tokens[name:after]]
    query = _query(view, after, end)
    columns: list[Token] = []
    if view.word(after) == "(" and (query is None or after < query - 1):
        columns = list(tokens[after : view.after(after)])
    rest = list(tokens[query - 1 : end]) if query is not None else []
    yield [*head, *columns, *rest]
    if columns:
        yield [*head, *_names_and_types(view, after), *rest]


def _query(view: TokensView, start: int, end: int) -> int | None:
    """The place after the AS that begins the query."""
    place = start
    while place < end:
        if view.words[place] == "AS" and view.word(place + 1) in ("SELECT", "WITH", "("):
            return place + 1
        place = view.after(place)
    return None


def _names_and_types(view: TokensView, start: int) -> list[Token]:
    """The columns of a definition list, without what else is said of them."""
    tokens = view.tokens
    close = view.closing.get(start, len(view) - 1)
    items: list[list[Token]] = []
    place = start + 1
    while place < close:
        comma = view.find(place, (",", ")"), ())
        comma = close if comma is None else min(comma, close)
        if view.word(place) not in _NO_COLUMNS and view.is_name(place):
            item = [tokens[place]]
            kind = place + 1
            if kind < comma and view.is_name(kind):
                item += tokens[kind : view.after(kind + 1) if view.word(kind + 1) == "(" else kind + 1]
            items.append(item)
        place = comma + 1
    found = [tokens[start]]
    for number, item in enumerate(items):
        if number:
            found.append(_comma(item[0]))
        found += item
    return [*found, tokens[close]]


def _comma(before: Token) -> Token:
    return Token(TokenType.COMMA, ",", before.line, before.col, before.start, before.start)


def _merge(view: TokensView, end: int) -> list[Token]:
    """Oracle's MERGE ... UPDATE SET ... DELETE WHERE ...: rows that go again."""
    found: list[Token] = []
    place = 0
    while place < end:
        if view.words[place] == "DELETE" and view.word(place + 1) == "WHERE":
            after = view.find(place, ("WHEN",), ())
            place = end if after is None else after
            continue
        close = view.after(place)
        found += view.tokens[place:close]
        place = close
    return found
