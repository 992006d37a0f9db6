"""Tokens rewritten where the parser does not know a dialect's syntax and lineage does not need the difference."""

import re
from collections.abc import Callable

from sqlglot.tokenizer_core import Token, TokenType

_STATEMENT_WORDS = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "WITH", "TRUNCATE"}
)
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_DECORATOR = re.compile(r"(?<=.)\$(?:\d+|__\w+__)$")
_ASSIGNMENT_SIGNS = frozenset("+-*/%&|^")


def rewrite(tokens: list[Token], dialect: str) -> list[Token]:
    """The tokens without clauses that the parser does not know and lineage does not need."""
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


def _lacks_from(tokens: list[Token]) -> bool:
    """`DELETE t WHERE ...`, as Oracle and T-SQL allow it."""
    if tokens[0].token_type is not TokenType.DELETE or len(tokens) < 2 or tokens[1].token_type not in _NAMES:
        return False
    return not any(token.token_type is TokenType.FROM for token in tokens[:6])


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
