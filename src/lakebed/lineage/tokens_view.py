"""Tokens of a script as words, for what is found before they are parsed: statements, bodies, names of tables."""

from collections.abc import Collection, Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from lakebed.lineage.tables import NamePart

STRINGS = frozenset(
    {
        TokenType.STRING,
        TokenType.HEREDOC_STRING,
        TokenType.RAW_STRING,
        TokenType.NATIONAL_STRING,
        TokenType.UNICODE_STRING,
    }
)
_QUOTED = STRINGS | {TokenType.IDENTIFIER, TokenType.BYTE_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING}
_END = frozenset({";"})


class TokensView:
    """Tokens with their words in upper case; a quoted name or a string has none."""

    __slots__ = ("closing", "text", "tokens", "words")

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.words = ["" if token.token_type in _QUOTED else token.text.upper() for token in tokens]
        # the place of each opening parenthesis -> the place of its closing one
        self.closing: dict[int, int] = {}
        opened: list[int] = []
        for place, word in enumerate(self.words):
            if word == "(":
                opened.append(place)
            elif word == ")" and opened:
                self.closing[opened.pop()] = place

    def __len__(self) -> int:
        return len(self.words)

    def word(self, place: int) -> str:
        return self.words[place] if 0 <= place < len(self.words) else ""

    def is_name(self, place: int) -> bool:
        """Whether a token can be a name: a word or a quoted one."""
        if not 0 <= place < len(self.words):
            return False
        token = self.tokens[place]
        return token.token_type is TokenType.IDENTIFIER or (bool(token.text) and _starts_name(self.words[place]))

    def dotted_name(self, place: int) -> tuple[tuple[NamePart, ...], int]:
        """The name that begins at a place, and the place after it; T-SQL's signs of temporary tables are part of it."""
        parts: list[NamePart] = []
        while True:
            sign = ""
            while self.word(place) in ("#", "##", "@"):
                sign += self.word(place)
                place += 1
            if not self.is_name(place):
                break
            token = self.tokens[place]
            parts.append(NamePart(sign + token.text, token.token_type is TokenType.IDENTIFIER))
            place += 1
            if self.word(place) != ".":
                break
            place += 1
        return tuple(parts), place

    def is_string(self, place: int) -> bool:
        return 0 <= place < len(self.words) and self.tokens[place].token_type in STRINGS

    def after(self, place: int) -> int:
        """The place after a token, or after the parenthesis that it opens."""
        return self.closing.get(place, place) + 1

    def find(self, start: int, wanted: Collection[str], stops: Collection[str] = _END) -> int | None:
        """The first of the wanted words outside of parentheses and of CASE ... END, before any of the stops."""
        place, cases = start, 0
        words = self.words
        while place < len(words):
            word = words[place]
            if not cases and word in wanted:
                return place
            if word in stops:
                return None
            if word == "CASE":
                cases += 1
            elif word == "END" and cases:
                cases -= 1
            place = self.after(place)
        return None

    def end_of_statement(self, start: int) -> int:
        """The place of the next semicolon, or the end."""
        try:
            return self.words.index(";", start)
        except ValueError:
            return len(self.words)

    def alone_on_its_line(self, place: int) -> bool:
        line = self.tokens[place].line
        before = place == 0 or self.tokens[place - 1].line < line
        return before and (place + 1 == len(self.words) or self.tokens[place + 1].line > line)

    def subqueries(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The places of queries in parentheses: `v := (SELECT ...)`, `IF EXISTS (SELECT ...)`."""
        place = start
        while place < end:
            if self.words[place] == "(" and self.word(place + 1) in ("SELECT", "WITH"):
                close = min(self.closing.get(place, end), end)
                yield place + 1, close
                place = close
            place += 1

    def inner_text(self, place: int) -> tuple[str, int]:
        """The text inside of a string and where it begins; doubled quotes become one and a blank, so places stay."""
        token = self.tokens[place]
        raw = self.text[token.start : token.end + 1]
        first = next((i for i, char in enumerate(raw) if char in "'\"$"), 0)
        mark = raw[first : first + 1]
        if mark == "$":
            width = raw.index("$", first + 1) - first + 1 if raw.count("$") > 1 else 1
        else:
            width = 3 if raw[first : first + 3] == mark * 3 and len(raw) >= first + 6 else 1
        inner = raw[first + width : len(raw) - width]
        if mark in "'\"" and width == 1:
            inner = inner.replace(mark * 2, f"{mark} ").replace(f"\\{mark}", f" {mark}")
        return inner, token.start + first + width


def _starts_name(word: str) -> bool:
    return bool(word) and (word[0].isalpha() or word[0] in "_@#$")
