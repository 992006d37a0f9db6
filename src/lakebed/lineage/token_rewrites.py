"""Tokens rewritten where the parser does not know a dialect's syntax and lineage does not need the difference."""

import re
from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

from lakebed.lineage.run_time_names import spell_identifiers

_STATEMENT_WORDS = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "WITH", "TRUNCATE"}
)
_WRITES_ROWS = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_DECORATOR = re.compile(r"(?<=.)\$(?:\d+|__\w+__)$")
_TABLES_AS_ARGUMENTS = frozenset({"bigquery", "spark", "databricks"})
_KNOWN_TABLE_FUNCTIONS = frozenset({"PREDICT", "VECTOR_SEARCH", "FEATURES_AT_TIME", "GENERATE_EMBEDDING"})
_ALL_ROWS = ((TokenType.L_PAREN, "("), (TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
_ASSIGNMENT_SIGNS = frozenset("+-*/%&|^")


def rewrite(tokens: list[Token], dialect: str) -> list[Token]:
    """The tokens without clauses that the parser does not know and lineage does not need."""
    tokens = spell_identifiers(tokens, dialect)
    if dialect in _TABLES_AS_ARGUMENTS:
        tokens = _table_arguments(tokens)
    elif dialect in ("tsql", "fabric"):
        tokens = _without_top(tokens)
    # BEGIN before the first statement of a block
    if len(tokens) > 1 and tokens[0].token_type is TokenType.BEGIN and tokens[1].text.upper() in _STATEMENT_WORDS:
        return tokens[1:]
    head = tokens[:30] if tokens[0].token_type is TokenType.CREATE else []
    commit = next((i for i, token in enumerate(head) if token.text.upper() == "COMMIT"), 0)
    if commit and tokens[commit - 1].text.upper() == "ON":
        # CREATE TEMP TABLE ... ON COMMIT DROP | DELETE ROWS | PRESERVE ROWS says when its rows go
        after = commit + (3 if commit + 2 < len(tokens) and tokens[commit + 2].text.upper() == "ROWS" else 2)
        return [*tokens[: commit - 1], *tokens[after:]]
    deep = next((i for i, token in enumerate(head[:12]) if token.text.upper() == "DEEP"), None)
    if deep is not None and deep + 1 < len(tokens) and tokens[deep + 1].text.upper() == "CLONE":
        # Databricks' DEEP CLONE: a clone is deep unless it says otherwise
        return [*tokens[:deep], *tokens[deep + 1 :]]
    if len(tokens) > 3 and tokens[-1].text.upper() == "OPTION" and tokens[-2].text.upper() == "CHECK":
        # CREATE VIEW ... WITH [CASCADED | LOCAL] CHECK OPTION says what may be written through the view
        for place in (-3, -4):
            if tokens[place].token_type is TokenType.WITH:
                return tokens[:place]
    if _lacks_from(tokens):
        first = tokens[0]
        from_ = Token(TokenType.FROM, "FROM", first.line, first.col, first.start, first.end)
        tokens = [first, from_, *tokens[1:]]
    if len(tokens) > 4 and [token.text.upper() for token in tokens[-4:-1]] == ["WHERE", "CURRENT", "OF"]:
        # UPDATE ... WHERE CURRENT OF cursor: the row that was read last
        tokens = tokens[:-4]
    if tokens[0].token_type is TokenType.ALTER:
        # MySQL's ALTER TABLE a RENAME AS b
        pairs = zip(tokens[1:], tokens, strict=False)
        tokens = [
            tokens[0],
            *(t for t, last in pairs if not (t.text.upper() == "AS" and last.text.upper() == "RENAME")),
        ]
    further = _BY_DIALECT.get(dialect)
    return tokens if further is None else further(tokens)


def _table_arguments(tokens: list[Token]) -> list[Token]:
    """`f(TABLE db.t, 3)` as `f((SELECT * FROM db.t), 3)`: the function gets the table's rows."""
    places = [
        place
        for place, token in enumerate(tokens)
        if token.token_type is TokenType.TABLE
        and 1 < place < len(tokens) - 1
        and tokens[place - 1].token_type in (TokenType.L_PAREN, TokenType.COMMA)
        and tokens[place + 1].token_type in _NAMES
    ]
    if not places or tokens[0].token_type is TokenType.CREATE or any(_known_function(tokens, p) for p in places):
        return tokens
    found: list[Token] = []
    place = 0
    for start in places:
        end = start + 2
        while end + 1 < len(tokens) and tokens[end].token_type is TokenType.DOT:
            end += 2
        at = tokens[start]
        words = (
            (TokenType.L_PAREN, "("),
            (TokenType.SELECT, "SELECT"),
            (TokenType.STAR, "*"),
            (TokenType.FROM, "FROM"),
        )
        found += tokens[place:start]
        found += [Token(kind, text, at.line, at.col, at.start, at.end) for kind, text in words]
        found += tokens[start + 1 : end]
        found.append(Token(TokenType.R_PAREN, ")", at.line, at.col, at.start, at.end))
        place = end
    return [*found, *tokens[place:]]


def _known_function(tokens: list[Token], place: int) -> bool:
    """Whether the parser itself knows the function that gets the table."""
    depth = 0
    for before in range(place - 1, 0, -1):
        kind = tokens[before].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth < 0:
            return tokens[before - 1].text.upper() in _KNOWN_TABLE_FUNCTIONS
    return False


def _lacks_from(tokens: list[Token]) -> bool:
    """`DELETE t WHERE ...`, as Oracle and T-SQL allow it."""
    if tokens[0].token_type is not TokenType.DELETE or len(tokens) < 2 or tokens[1].token_type not in _NAMES:
        return False
    return not any(token.token_type is TokenType.FROM for token in tokens[:6])


def _without_top(tokens: list[Token]) -> list[Token]:
    """T-SQL's UPDATE TOP (10) PERCENT t: how many rows are written, whichever they are."""
    place = next((i for i, token in enumerate(tokens) if token.text.upper() in _WRITES_ROWS), None)
    if place is None or len(tokens) < place + 4 or tokens[place + 1].text.upper() != "TOP":
        return tokens
    after = place + 2
    if tokens[after].token_type is TokenType.L_PAREN:
        depth = 0
        while after < len(tokens):
            kind = tokens[after].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            after += 1
            if not depth:
                break
    else:
        after += 1
    if after < len(tokens) and tokens[after].text.upper() == "PERCENT":
        after += 1
    return [*tokens[: place + 1], *tokens[after:]]


def _compound_assignments(tokens: list[Token]) -> list[Token]:
    """T-SQL's `SET a += 1` as `SET a = a + 1`."""
    found: list[Token] = []
    name: int | None = None
    for token in tokens:
        if token.token_type in (TokenType.SET, TokenType.COMMA):
            # a name that something is assigned to may follow
            name = len(found) + 1
        elif token.token_type is TokenType.EQ:
            sign = found[-1] if found else token
            if name is not None and sign.text in _ASSIGNMENT_SIGNS and sign.end + 1 == token.start:
                found[-1:] = [token, *found[name:-1], sign]
                name = None
                continue
            name = None
        found.append(token)
    return found


def _without_partition_decorators(tokens: list[Token]) -> list[Token]:
    """BigQuery's `t$20261101` is a partition of the table t."""
    if not any("$" in token.text for token in tokens):
        return tokens
    found: list[Token] = []
    for token in tokens:
        if token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) and (match := _DECORATOR.search(token.text)):
            text = token.text[: match.start()]
            token = Token(token.token_type, text, token.line, token.col, token.start, token.end, token.comments)
        found.append(token)
    return found


_BY_DIALECT: dict[str, Callable[[list[Token]], list[Token]]] = {
    "bigquery": _without_partition_decorators,
    "tsql": _compound_assignments,
    "fabric": _compound_assignments,
}
