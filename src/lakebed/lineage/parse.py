"""Splits a script into statements and parses each on its own, so that a bad one does not lose the others.

sqlglot's compiled tokenizer and parser do the work. Three things are added: recovery where text cannot be split into
tokens, limits for its backtracking parser, and token rewrites for syntax that it leaves as text (MySQL's REPLACE INTO).
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from lakebed.lineage.contract import Span
from lakebed.lineage.dialects import Dialect

# Deeper than people write, and not too deep for the parser's recursion.
MAX_NESTING = 120
# Nodes that the parser may make per token, discarded attempts included; a normal statement needs two or three.
NODES_PER_TOKEN = 60

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
# `array<array<...`: at each level the parser reads all that follows once more
_TYPE_OPENERS = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
MAX_TYPE_NESTING = 30
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})

# sqlglot's messages quote tokens in full; their text is enough
_TOKEN_REPR = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: .*?>", re.DOTALL)
_STATEMENT_WORDS = frozenset(
    {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "WITH", "TRUNCATE"}
)

# Quoted text, comments and ends of statements, for scripts that cannot be split into tokens.
_QUOTED_OR_END = re.compile(r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|;", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """Why a statement could not be parsed, and where."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """One statement: its tree, or the problem why there is none."""

    tree: exp.Expr | None
    span: Span
    # what must be added to a position in the tree to get a position in the script
    offset: int
    problem: ParseProblem | None = None


class _DropAll(logging.Filter):
    """Drops sqlglot's warnings about unsupported syntax: the result has issues with positions instead."""

    def filter(self, record: logging.LogRecord) -> bool:
        return False


_DROP_ALL = _DropAll()


class ScriptParser:
    """Splits and parses scripts of one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = SqlglotDialect.get_or_raise(dialect.parser or None)
        self._tokenizer: Tokenizer = self._dialect.tokenizer()
        self._parser: Parser = self._dialect.parser(error_level=ErrorLevel.IMMEDIATE)

    def statements(self, sql: str) -> Iterator[ParsedStatement]:
        """Every statement in order, without comments and empty statements."""
        logger = logging.getLogger("sqlglot")
        for text, offset, tokens in self._pieces(sql):
            if isinstance(tokens, ParseProblem):
                yield ParsedStatement(None, tokens.span, offset, tokens)
                continue
            for statement in _split(tokens):
                logger.addFilter(_DROP_ALL)
                try:
                    parsed = self._parse(statement, text, offset)
                finally:
                    logger.removeFilter(_DROP_ALL)
                yield parsed

    def _pieces(self, sql: str) -> Iterator[tuple[str, int, list[Token] | ParseProblem]]:
        """The tokens of the script; where it cannot be split as a whole, those of each statement, or its problem."""
        try:
            yield sql, 0, self._tokenizer.tokenize(sql)
            return
        except TokenError:
            pass
        for start, end in _rough_statements(sql):
            text = sql[start:end]
            try:
                yield text, start, self._tokenizer.tokenize(text)
            except TokenError as error:
                first = start + len(text) - len(text.lstrip())
                yield (
                    text,
                    start,
                    ParseProblem(f"the text cannot be split into tokens: {_first_line(error)}", Span(first, end)),
                )

    def _parse(self, tokens: list[Token], sql: str, offset: int) -> ParsedStatement:
        span = Span(tokens[0].start + offset, tokens[-1].end + 1 + offset)
        if tokens[0].text.upper() == "REPLACE" and len(tokens) == 2:
            # for lineage MySQL's REPLACE INTO is an INSERT; sqlglot keeps it as text
            rest = tokens[1].text
            offset += sql.index(rest, tokens[0].end) - len("INSERT ")
            sql = f"INSERT {rest}"
            tokens = self._tokenizer.tokenize(sql)
        if (deep := _too_deep(tokens)) is not None:
            problem = ParseProblem(
                "the statement is nested too deeply", Span(deep.start + offset, deep.end + 1 + offset)
            )
            return ParsedStatement(None, span, offset, problem)
        parser = self._parser
        parser.max_nodes = 1000 + NODES_PER_TOKEN * len(tokens)
        try:
            trees = parser.parse(_rewrite(tokens), sql)
        except ParseError as error:
            return ParsedStatement(None, span, offset, _problem(error, tokens, sql, offset, span))
        except RecursionError:
            return ParsedStatement(None, span, offset, ParseProblem("the statement is nested too deeply", span))
        except (SqlglotError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
            # errors of sqlglot's parser that are not its own: the other statements must not be lost
            return ParsedStatement(None, span, offset, ParseProblem(f"the parser failed: {_first_line(error)}", span))
        tree = next((tree for tree in trees if tree is not None), None)
        return ParsedStatement(tree, span, offset)


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Tokens of each statement; BEGIN ... END blocks are transparent, as sqlglot treats them too."""
    current: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            if current:
                yield current
            current = []
        elif token.token_type is TokenType.END and not current and token.text.upper() == "END":
            current = []
        else:
            current.append(token)
    if current:
        yield current


def _rewrite(tokens: list[Token]) -> list[Token]:
    """The tokens without clauses that the parser does not know and lineage does not need."""
    # BEGIN before the first statement of a block
    if len(tokens) > 1 and tokens[0].token_type is TokenType.BEGIN and tokens[1].text.upper() in _STATEMENT_WORDS:
        return tokens[1:]
    commit = next((i for i, token in enumerate(tokens[:30]) if token.text.upper() == "COMMIT"), 0)
    if commit and tokens[commit - 1].text.upper() == "ON" and tokens[0].token_type is TokenType.CREATE:
        # CREATE TEMP TABLE ... ON COMMIT DROP | DELETE ROWS | PRESERVE ROWS says when its rows go
        after = commit + (3 if commit + 2 < len(tokens) and tokens[commit + 2].text.upper() == "ROWS" else 2)
        return [*tokens[: commit - 1], *tokens[after:]]
    deep = next((i for i, token in enumerate(tokens[:12]) if token.text.upper() == "DEEP"), None)
    if deep is not None and deep + 1 < len(tokens) and tokens[deep + 1].text.upper() == "CLONE":
        # Databricks' DEEP CLONE: a clone is deep unless it says otherwise
        return [*tokens[:deep], *tokens[deep + 1 :]]
    if len(tokens) > 3 and tokens[-1].text.upper() == "OPTION" and tokens[-2].text.upper() == "CHECK":
        # CREATE VIEW ... WITH [CASCADED | LOCAL] CHECK OPTION says what may be written through the view
        for place in (-3, -4):
            if tokens[place].token_type is TokenType.WITH:
                return tokens[:place]
    return tokens


def _too_deep(tokens: Sequence[Token]) -> Token | None:
    depth = types = 0
    before = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
            if depth > MAX_NESTING:
                return token
        elif kind in _CLOSING:
            depth -= 1
        elif kind is TokenType.LT:
            types += before in _TYPE_OPENERS
            if types > MAX_TYPE_NESTING:
                return token
        elif kind is TokenType.GT and types:
            types -= 1
        before = kind
    return None


def _rough_statements(sql: str) -> Iterator[tuple[int, int]]:
    """Start and end of each statement, found without a tokenizer: semicolons outside of closed quotes and comments."""
    start = 0
    position = 0
    while match := _QUOTED_OR_END.search(sql, position):
        position = match.end()
        if match.group() == ";":
            yield start, match.end()
            start = match.end()
    if sql[start:].strip():
        yield start, len(sql)


def _problem(error: ParseError, tokens: Sequence[Token], sql: str, offset: int, span: Span) -> ParseProblem:
    details = error.errors[0] if error.errors else {}
    description = _TOKEN_REPR.sub(r"\1", str(details.get("description") or _first_line(error)))
    line, column = details.get("line"), details.get("col")
    # sqlglot gives line and column of the token's last character
    for token in tokens:
        if token.line == line and token.col == column:
            return ParseProblem(description, Span(token.start + offset, token.end + 1 + offset))
    return ParseProblem(description, span)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
