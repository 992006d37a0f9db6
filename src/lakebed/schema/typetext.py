"""Reads the text of types: the tokens that DuckDB's and Spark's notations share."""

import re
from collections.abc import Callable, Mapping

from lakebed.errors import UnsupportedType
from lakebed.schema.types import DataType, Decimal, Map

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<word>[^\W\d]\w*)          # a name or a keyword
      | (?P<number>\d+)
      | "(?P<double>(?:[^"]|"")*)"    # a quoted name, DuckDB
      | `(?P<back>(?:[^`]|``)*)`      # a quoted name, Spark
      | '(?P<text>(?:[^'\\]|''|\\.)*)'
      | (?P<sign>[(),:<>\[\]])
    )""",
    re.VERBOSE | re.DOTALL,
)


class TypeText:
    """A cursor over the tokens of a type; every complaint is UnsupportedType with the whole text and the column."""

    def __init__(self, text: str, *, system: str, column: str | None) -> None:
        self._text = text
        self._system = system
        self._column = column
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            token = _TOKEN.match(text, position)
            if token is None:
                raise self.unsupported()
            kind = str(token.lastgroup)
            self._tokens.append((kind, token[kind]))
            position = token.end()
        self._next = 0

    def unsupported(self) -> UnsupportedType:
        return UnsupportedType(system=self._system, type_name=self._text, column=self._column)

    def accept(self, *words: str) -> bool:
        """Steps over these signs or keywords, whatever their case, if they come next."""
        end = self._next + len(words)
        ahead = self._tokens[self._next : end]
        if len(ahead) < len(words):
            return False
        for (kind, value), word in zip(ahead, words, strict=True):
            if kind not in ("word", "sign") or value.upper() != word:
                return False
        self._next = end
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise self.unsupported()

    def word(self) -> str:
        """The keyword that comes next, in capitals."""
        kind, value = self._take()
        if kind != "word":
            raise self.unsupported()
        return value.upper()

    def number(self) -> int:
        kind, value = self._take()
        if kind != "number":
            raise self.unsupported()
        return int(value)

    def name(self) -> str:
        """A name, quoted or not."""
        kind, value = self._take()
        if kind == "double":
            return value.replace('""', '"')
        if kind == "back":
            return value.replace("``", "`")
        if kind == "word":
            return value
        raise self.unsupported()

    def text(self) -> str:
        """A quoted string."""
        kind, value = self._take()
        if kind != "text":
            raise self.unsupported()
        return re.sub(r"\\(.)|''", lambda found: found[1] or "'", value, flags=re.DOTALL)

    def known(self, word: str, types: Mapping[str, DataType]) -> DataType:
        """The type that this word alone means."""
        if word not in types:
            raise self.unsupported()
        return types[word]

    def decimal(self, default: Decimal) -> Decimal:
        """Precision and scale in parentheses; the default where there are none."""
        if not self.accept("("):
            return default
        precision, scale = self.number(), 0
        if self.accept(","):
            scale = self.number()
        self.expect(")")
        return Decimal(precision, scale)

    def map(self, read: "Callable[[TypeText], DataType]", opening: str, closing: str) -> Map:
        """Key and value between two signs."""
        self.expect(opening)
        key = read(self)
        self.expect(",")
        value = read(self)
        self.expect(closing)
        return Map(key, value)

    def whole(self, read: "Callable[[TypeText], DataType]") -> DataType:
        """The one type that the whole text is."""
        type_ = read(self)
        if not self.at_end():
            raise self.unsupported()
        return type_

    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def _take(self) -> tuple[str, str]:
        if self.at_end():
            raise self.unsupported()
        token = self._tokens[self._next]
        self._next += 1
        return token
