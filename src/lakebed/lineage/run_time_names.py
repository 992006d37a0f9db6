"""IDENTIFIER(...) of Snowflake, Spark and Databricks: a name as text, in any place where a name may stand.

ClickHouse's dictionary('d') in FROM is such a name, too. A literal is the name itself. Where a variable or a parameter
is in it, only a run knows the name: such a table is called by the call's own text, so that two statements with the
same call are about the same table.
"""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

_WORD = "IDENTIFIER"
_WORDS = {"snowflake": _WORD, "spark": _WORD, "databricks": _WORD, "clickhouse": "DICTIONARY"}
# After these words stands a table; elsewhere a call may name a column or a function.
_BEFORE_TABLES = frozenset({"FROM", "JOIN", "INTO", "UPDATE", "TABLE", "OVERWRITE", "USING", "VIEW", "EXISTS", "ONLY"})
_TIGHT = frozenset({":", "$", ".", "(", ")", "?"})


def is_run_time_name(name: str) -> bool:
    """Whether a table is called by the text of a call, because only a run knows its name."""
    return name.startswith(f"{_WORD}(")


def spell_identifiers(tokens: list[Token], dialect: str) -> list[Token]:
    """The tokens with names in the place of IDENTIFIER(...)."""
    word = _WORDS.get(dialect)
    # the two words are of one length, and few others are
    if word is None or not any(len(token.text) == 10 and _is_call(token, word) for token in tokens):
        return tokens
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if _is_call(token, word) and place + 1 < len(tokens) and tokens[place + 1].token_type is TokenType.L_PAREN:
            close = _closing(tokens, place + 1)
            if close is not None:
                before = tokens[place - 1].text.upper() if place else ""
                name = _name(tokens[place + 2 : close], token, dialect, is_table=before in _BEFORE_TABLES)
                if name:
                    found += name
                    place = close + 1
                    continue
        found.append(token)
        place += 1
    return found


def _is_call(token: Token, word: str) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.DICTIONARY) and token.text.upper() == word


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for place in range(opening, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return place
    return None


def _name(argument: Sequence[Token], call: Token, dialect: str, *, is_table: bool) -> list[Token]:
    """The tokens of the name; empty where the call is left as it is."""
    texts, signs = argument[::2], argument[1::2]
    if (
        len(texts) == len(signs) + 1
        and all(token.token_type is TokenType.STRING for token in texts)
        and all(token.token_type is TokenType.DPIPE for token in signs)
    ):
        return _dotted("".join(token.text for token in texts), call)
    if dialect == "snowflake" and argument and all(_is_name_part(token) for token in argument):
        return list(argument)
    if is_table and argument and dialect != "clickhouse":
        return [_token(TokenType.IDENTIFIER, f"{_WORD}({_text(argument)})", call)]
    return []


def _is_name_part(token: Token) -> bool:
    return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.DOT)


def _dotted(name: str, call: Token) -> list[Token]:
    """The parts of a name in text: `db."My table"`."""
    found: list[Token] = []
    for part in _split(name):
        if found:
            found.append(_token(TokenType.DOT, ".", call))
        quoted = len(part) > 1 and part[0] in '"`' and part[-1] == part[0]
        found.append(_token(TokenType.IDENTIFIER if quoted else TokenType.VAR, part.strip('"`'), call))
    return found


def _split(name: str) -> list[str]:
    parts, quote = [""], ""
    for char in name.strip():
        if char in '"`' and quote in ("", char):
            quote = "" if quote else char
        if char == "." and not quote:
            parts.append("")
        else:
            parts[-1] += char
    return [part for part in parts if part]


def _text(argument: Sequence[Token]) -> str:
    words: list[str] = []
    for token in argument:
        word = f"'{token.text}'" if token.token_type is TokenType.STRING else token.text
        if words and word not in _TIGHT - {":", "$", "?"} and words[-1][-1] not in _TIGHT:
            words.append(" ")
        words.append(word)
    return "".join(words)


def _token(kind: TokenType, text: str, at: Token) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end)
