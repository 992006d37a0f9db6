"""Splits a script into statements and parses each on its own, so that a bad one does not lose the others.

sqlglot's compiled tokenizer and parser do the work. Added are the bodies of procedures (`procedural.py`), recovery
where text cannot be split into tokens, limits for its backtracking parser, and token rewrites for syntax that it does
not know (`token_rewrites.py`).
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, TokenError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer

from lakebed.lineage.contract import Span
from lakebed.lineage.deep_stack import on_deep_stack
from lakebed.lineage.dialects import Dialect
from lakebed.lineage.named_tables import NamedTables, named_tables, without_data
from lakebed.lineage.pieces import Language, Piece, is_procedural, with_semicolons
from lakebed.lineage.procedural import Cutter
from lakebed.lineage.simplified import simplified
from lakebed.lineage.sqlglot_dialects import sqlglot_dialect
from lakebed.lineage.token_rewrites import rewrite
from lakebed.lineage.tokens_view import TokensView

# As deep as a thread's own stack allows, and as the stack of `deep_stack.py` does; the parser recurses in compiled
# code, where an overflow would end the process.
NESTING_ON_OWN_STACK = 100
MAX_NESTING = 600
# Nodes that the parser may make per token, discarded attempts included; a normal statement needs two or three.
NODES_PER_TOKEN = 60

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
# `array<array<...`: at each level the parser reads all that follows once more
_TYPE_OPENERS = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
MAX_TYPE_NESTING = 30
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})

# sqlglot's messages quote tokens in full; their text is enough
_TOKEN_REPR = re.compile(r"<Token token_type: [^,]*, text: (.*?), line: .*?>", re.DOTALL)
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
    # the tables that it names, where it could not be parsed
    named: NamedTables | None = None
    # where it stands in a procedure or block
    piece: Piece | None = None
    # whether its tree needs a stack of its own
    is_deep: bool = False


class _DropAll(logging.Filter):
    """Drops sqlglot's warnings about unsupported syntax: the result has issues with positions instead."""

    def filter(self, record: logging.LogRecord) -> bool:
        return False


_DROP_ALL = _DropAll()
_SQLGLOT = logging.getLogger("sqlglot")


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keeps sqlglot from logging while its parser and generator are used."""
    _SQLGLOT.addFilter(_DROP_ALL)
    try:
        yield
    finally:
        _SQLGLOT.removeFilter(_DROP_ALL)


class ScriptParser:
    """Splits and parses scripts of one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._name = dialect.name
        known = sqlglot_dialect(dialect.parser)
        self._tokenizer: Tokenizer = known.tokenizer()
        self._parser: Parser = known.parser(error_level=ErrorLevel.IMMEDIATE)
        self._language = Language(_word_tokenizer(dialect.parser).tokenize, dialect.name)

    def statements(self, sql: str) -> Iterator[ParsedStatement]:
        """Every statement in order, without comments and empty statements."""
        if "\ufeff" in sql:
            # a byte order mark is no character of the script; a blank keeps the places of the others
            sql = sql.replace("\ufeff", " ")
        for piece in self._pieces(sql):
            if isinstance(piece, ParsedStatement):
                yield piece
                continue
            with without_warnings():
                try:
                    parsed = self._parse(piece)
                except Exception as error:  # noqa: BLE001  a mistake of ours: the other statements must not be lost
                    span = Span(piece.tokens[0].start + piece.offset, piece.tokens[-1].end + 1 + piece.offset)
                    problem = ParseProblem(f"the statement cannot be parsed: {_first_line(error)}", span)
                    parsed = ParsedStatement(None, span, piece.offset, problem)
            yield parsed

    def _pieces(self, sql: str) -> Iterator[Piece | ParsedStatement]:
        """The tokens of each statement; where the script cannot be split as a whole, each statement on its own."""
        procedural = is_procedural(sql, self._name)
        if procedural:
            sql = with_semicolons(sql)
        try:
            yield from self._cut(sql, 0, procedural)
            return
        except TokenError:
            pass
        for start, end in _rough_statements(sql):
            text = sql[start:end]
            try:
                yield from self._cut(text, start, procedural)
            except TokenError as error:
                first = start + len(text) - len(text.lstrip())
                message = f"the text cannot be split into tokens: {_first_line(error)}"
                span = Span(first, end)
                yield ParsedStatement(None, span, start, ParseProblem(message, span))

    def _cut(self, text: str, offset: int, procedural: bool) -> Iterator[Piece | ParsedStatement]:
        if not procedural:
            tokens = self._tokenizer.tokenize(text)
            if _is_one_statement(tokens, text):
                # its semicolon, where it has one, is the last token
                one = tokens[:-1] if tokens[-1].token_type is TokenType.SEMICOLON else tokens
                return iter([Piece(one, text, offset)])
            return (Piece(statement, text, offset) for statement in _split(tokens))
        view = TokensView(self._language.tokenize(text), text)
        return self._cut_by_words(view, text, offset)

    def _cut_by_words(self, view: TokensView, text: str, offset: int) -> Iterator[Piece | ParsedStatement]:
        done = 0
        try:
            for piece in Cutter(view, offset, self._language).pieces():
                if piece.tokens:
                    done = max(done, min(piece.tokens[-1].end + 1 + piece.offset - offset, len(text)))
                    yield piece
        except Exception as error:  # noqa: BLE001  a mistake of ours: what was cut so far must not be lost
            span = Span(offset + done, offset + len(text))
            message = f"the rest of the script cannot be cut into statements: {_first_line(error)}"
            yield ParsedStatement(None, span, offset, ParseProblem(message, span))

    def _parse(self, piece: Piece) -> ParsedStatement:
        tokens, sql, offset = list(piece.tokens), piece.text, piece.offset
        span = Span(tokens[0].start + offset, tokens[-1].end + 1 + offset)
        is_plain = piece.body is None and piece.routine is None and piece.place is None and not piece.into
        around = None if is_plain else piece
        if piece.routine is not None:
            return ParsedStatement(None, span, offset, piece=piece)
        if tokens[0].token_type in self._tokenizer.COMMANDS and len(tokens) > 1:
            # cut by its words: now the rest of the command has to be one token
            sql, offset = sql[tokens[0].start : tokens[-1].end + 1], offset + tokens[0].start
            tokens = self._tokenizer.tokenize(sql)
        if tokens[0].text.upper() == "REPLACE" and len(tokens) == 2:
            # for lineage MySQL's REPLACE INTO is an INSERT; sqlglot keeps it as text
            rest = tokens[1].text
            offset += sql.index(rest, tokens[0].end) - len("INSERT ")
            sql = f"INSERT {rest}"
            tokens = self._tokenizer.tokenize(sql)
        problem = None
        trees: list[exp.Expr | None] = [None]
        depth, deep = _nesting(tokens, sql)
        if deep is not None:
            problem = ParseProblem(
                "the statement is nested too deeply", Span(deep.start + offset, deep.end + 1 + offset)
            )
            return ParsedStatement(None, span, offset, problem)
        parser = self._parser
        parser.max_nodes = 1000 + NODES_PER_TOKEN * len(tokens)
        is_deep = depth > NESTING_ON_OWN_STACK
        try:
            rewritten = rewrite(tokens, self._name)
            try:
                trees = on_deep_stack(lambda: parser.parse(rewritten, sql)) if is_deep else parser.parse(rewritten, sql)
            except RecursionError:
                if is_deep:
                    raise
                is_deep = True
                trees = on_deep_stack(lambda: parser.parse(rewritten, sql))
        except ParseError as error:
            problem = _problem(error, tokens, sql, offset, span)
        except RecursionError:
            problem = ParseProblem("the statement is nested too deeply", span)
        except Exception as error:  # noqa: BLE001  errors of sqlglot's parser that are not its own: others must not be lost
            problem = ParseProblem(f"the parser failed: {_first_line(error)}", span)
        if problem is not None or _is_text(next(iter(trees), None)):
            tree = self._parse_simplified(tokens, sql)
            if tree is not None:
                return ParsedStatement(tree, span, offset, piece=around, is_deep=is_deep)
        if problem is not None:
            if tokens[0].token_type is TokenType.ALTER:
                # kept as text, as sqlglot does with most that it does not know
                text = exp.Literal.string(sql[tokens[0].end + 1 : tokens[-1].end + 1])
                return ParsedStatement(exp.Command(this="ALTER", expression=text), span, offset, piece=around)
            kind = without_data(tokens)
            if kind is not None:
                return ParsedStatement(None, span, offset, piece=piece._replace(routine=kind))
            return ParsedStatement(None, span, offset, problem, named_tables(tokens, sql), around)
        tree = next((tree for tree in trees if tree is not None), None)
        return ParsedStatement(tree, span, offset, piece=around, is_deep=is_deep)

    def _parse_simplified(self, tokens: list[Token], sql: str) -> exp.Expr | None:
        """The tree of the statement without clauses that the parser does not know; None where that does not help."""
        for shorter in simplified(tokens, sql):
            try:
                tree = self._parser.parse(rewrite(shorter, self._name), sql)[0]
            except Exception:  # noqa: BLE001  the problem of the whole statement is reported
                continue
            if tree is not None and not _is_text(tree):
                return tree
        return None


@cache
def _word_tokenizer(dialect: str) -> Tokenizer:
    """sqlglot takes the text after words such as CALL for one token; here every word is one."""
    # Athena's tokenizer is a pair of others, of which this one reads queries
    known = sqlglot_dialect({"athena": "trino"}.get(dialect, dialect))
    kind: type[Tokenizer] = type("WordTokenizer", (known.tokenizer_class,), {"COMMANDS": set()})
    return kind(dialect=known)


def _is_text(tree: exp.Expr | None) -> bool:
    """Whether the parser kept a statement as text that may move data."""
    return isinstance(tree, exp.Command) and str(tree.args["this"]).upper() in ("CREATE", "DELETE", "TRUNCATE", "MERGE")


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


def _is_one_statement(tokens: Sequence[Token], text: str) -> bool:
    """Whether there is one statement, with at most a semicolon at its end: most queries need no cutting."""
    body = text.rstrip()
    semicolon = body.find(";")
    alone = semicolon < 0 or semicolon == len(body) - 1
    return alone and bool(tokens) and tokens[0].token_type not in (TokenType.END, TokenType.SEMICOLON)


def _nesting(tokens: Sequence[Token], sql: str) -> tuple[int, Token | None]:
    """How deep parentheses and types are nested, and the token at which that is too deep, if there is one."""
    text = sql[tokens[0].start : tokens[-1].end + 1]
    opened = text.count("(") + text.count("[") + text.count("{")
    if opened <= NESTING_ON_OWN_STACK and text.count("<") <= MAX_TYPE_NESTING:
        # the common case without a look at every token: what opens a few times is not nested deeply
        return opened, None
    depth = deepest = types = 0
    before = None
    for token in tokens:
        kind = token.token_type
        if kind in _OPENING:
            depth += 1
            if depth > deepest:
                deepest = depth
                if depth > MAX_NESTING:
                    return depth, token
        elif kind in _CLOSING:
            depth -= 1
        elif kind is TokenType.LT:
            types += before in _TYPE_OPENERS
            if types > MAX_TYPE_NESTING:
                return deepest, token
        elif kind is TokenType.GT and types:
            types -= 1
        before = kind
    return deepest, None


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
