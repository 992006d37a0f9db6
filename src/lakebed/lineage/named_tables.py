"""The tables that a statement names, found in its tokens: for statements that cannot be parsed."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlglot.tokenizer_core import Token

from lakebed.lineage.tables import NamePart
from lakebed.lineage.tokens_view import TokensView

_VERBS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"})
# Functions whose arguments have a FROM of their own.
_FROM_IN_ARGUMENTS = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "OVERLAY", "POSITION", "CEIL", "FLOOR"})
# What no name in FROM can be.
_NO_NAMES = frozenset(
    {
        "SELECT",
        "LATERAL",
        "UNNEST",
        "TABLE",
        "VALUES",
        "ONLY",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "SET",
        "ON",
        "USING",
        "AS",
    }
)
_CLAUSES = frozenset(
    {"WHERE", "GROUP BY", "ORDER BY", "HAVING", "JOIN", "LEFT", "RIGHT", "INNER", "OUTER", "FULL", "CROSS", "NATURAL"}
    | {"ON", "USING", "UNION", "EXCEPT", "INTERSECT", "LIMIT", "SET", "SELECT", "VALUES", "WHEN", "AS", "WITH"}
)
_OBJECTS_WITHOUT_DATA = frozenset(
    {
        "USER", "ROLE", "INDEX", "TABLESPACE", "SEQUENCE", "SYNONYM", "PROFILE", "DIRECTORY", "LIBRARY", "OPERATOR",
        "TYPE", "DATABASE", "CONTEXT", "CLUSTER", "DIMENSION", "INDEXTYPE", "SCHEMA", "SYSTEM", "SESSION", "LOGIN",
        "CERTIFICATE", "ASSEMBLY", "SERVER", "EVENT", "POLICY", "WAREHOUSE", "STAGE", "PIPE", "STREAM", "INTEGRATION",
        "NETWORK", "SHARE", "ACCOUNT", "RESOURCE", "EXTENSION", "DOMAIN", "COLLATION", "CAST", "AGGREGATE", "RULE",
        "PUBLICATION", "SUBSCRIPTION", "LANGUAGE", "CONVERSION", "STATISTICS", "OUTLINE", "DISKGROUP", "EDITION",
        "PARTITION", "FULLTEXT", "SPATIAL", "SECURITY", "APPLICATION", "ENDPOINT", "MASTER", "CREDENTIAL", "XML",
        "AUDIT", "LOCKDOWN", "FLASHBACK", "RESTORE", "ROLLBACK", "JAVA", "MATERIALIZED ZONEMAP", "SECRET", "TAG",
    }
)  # fmt: skip
_WORDS_BEFORE_OBJECTS = frozenset({"OR", "REPLACE", "UNIQUE", "BITMAP", "PUBLIC", "TEMPORARY", "IF", "NOT", "EXISTS"})


class NamedTables(NamedTuple):
    """What a statement seems to write and to read."""

    kind: str
    target: tuple[NamePart, ...] | None
    sources: tuple[tuple[NamePart, ...], ...]


def without_data(tokens: Sequence[Token]) -> str | None:
    """The kind of a statement that moves no data, as CREATE_INDEX; None for the others."""
    return without_data_words(TokensView(tokens[:8], "").words)


def without_data_words(words: Sequence[str]) -> str | None:
    """The same for the first words of a statement, in upper case."""
    first = words[0] if words else ""
    if first in ("GRANT", "REVOKE", "COMMENT", "ANALYZE", "AUDIT", "NOAUDIT", "EXPLAIN", "LOCK", "FLASHBACK", "PURGE"):
        return first
    if first not in ("CREATE", "ALTER", "DROP"):
        return None
    about = next((word for word in words[1:] if word not in _WORDS_BEFORE_OBJECTS), "")
    return f"{first}_{about}" if about in _OBJECTS_WITHOUT_DATA else None


def named_tables(tokens: Sequence[Token], text: str) -> NamedTables:
    """Names after FROM, JOIN, INTO, USING, UPDATE and TABLE, without those of CTEs."""
    return _Finder(TokensView(tokens, text)).find()


class _Finder:
    def __init__(self, view: TokensView) -> None:
        self.view = view
        self.ctes: set[str] = set()
        self.target: tuple[NamePart, ...] | None = None
        self.sources: dict[tuple[NamePart, ...], None] = {}

    def find(self) -> NamedTables:
        view = self.view
        kind = self._kind()
        openers: list[str] = []
        place = 0
        while place < len(view):
            word = view.words[place]
            if word == "(":
                openers.append(view.word(place - 1))
            elif word == ")" and openers:
                openers.pop()
            elif word == "AS" and view.word(place + 1) in ("(", "MATERIALIZED", "NOT"):
                self._note_cte(place)
            elif word in ("FROM", "JOIN") and not self._is_argument(place, openers):
                self._note_items(place + 1, kind)
            elif word == "INTO" or (word == "OVERWRITE" and kind == "INSERT"):
                self._note_target(place + 1)
            elif word == "USING" and kind in ("MERGE", "DELETE"):
                self._note_items(place + 1, kind)
            elif self.target is None and self._names_target(place, kind):
                self._note_target(place + 1)
            place += 1
        names = [name for name in self.sources if name != self.target or kind not in ("DELETE", "UPDATE")]
        sources = tuple(name for name in names if len(name) > 1 or name[0].text.lower() not in self.ctes)
        return NamedTables(kind if self.target or sources else "UNKNOWN", self.target, sources)

    def _names_target(self, place: int, kind: str) -> bool:
        word = self.view.words[place]
        if word in ("TABLE", "VIEW"):
            return kind.startswith(("CREATE", "ALTER", "DROP")) or (word == "TABLE" and kind == "INSERT")
        return word == kind and (word == "UPDATE" or (word == "MERGE" and self.view.word(place + 1) != "INTO"))

    def _kind(self) -> str:
        words = self.view.words
        first = words[0] if words else ""
        if first == "WITH":
            found = self.view.find(1, _VERBS, ())
            first = words[found] if found is not None else "SELECT"
        if first in ("CREATE", "ALTER", "DROP"):
            head = words[:10]
            if first != "CREATE":
                return first
            if "VIEW" in head:
                return "CREATE_VIEW"
            if "TABLE" in head:
                return "CREATE_TABLE_AS" if "SELECT" in words else "CREATE_TABLE"
            return "UNKNOWN"
        if first == "REPLACE":
            return "INSERT"
        return first if first in _VERBS else "UNKNOWN"

    def _name(self, place: int) -> tuple[tuple[NamePart, ...], int]:
        return ((), place) if self.view.word(place) in _NO_NAMES else self.view.dotted_name(place)

    def _is_argument(self, place: int, openers: list[str]) -> bool:
        if self.view.words[place] == "JOIN":
            return False
        return bool(openers and openers[-1] in _FROM_IN_ARGUMENTS) or self.view.word(place - 1) == "DISTINCT"

    def _note_items(self, place: int, kind: str) -> None:
        view = self.view
        while True:
            while view.word(place) in ("ONLY", "LATERAL", "TABLE"):
                place += 1
            parts, after = self._name(place)
            if not parts:
                return
            if view.word(after) != "(":
                if kind == "DELETE" and self.target is None:
                    self.target = parts
                else:
                    self.sources[parts] = None
            after = view.after(after) if view.word(after) == "(" else after
            if view.word(after) == "AS":
                after += 1
            if view.is_name(after) and view.word(after) not in _CLAUSES:
                after += 1
            if view.word(after) != ",":
                return
            place = after + 1

    def _note_target(self, place: int) -> None:
        view = self.view
        while view.word(place) in (
            "TABLE",
            "INTO",
            "OVERWRITE",
            "IF",
            "NOT",
            "EXISTS",
            "ONLY",
            "LOW_PRIORITY",
            "IGNORE",
        ):
            place += 1
        parts, _ = self._name(place)
        if parts and self.target is None:
            self.target = parts

    def _note_cte(self, place: int) -> None:
        view = self.view
        before = place - 1
        if view.word(before) == ")":
            before = next((o for o, c in view.closing.items() if c == before), before) - 1
        if view.is_name(before) and view.word(before - 1) in ("WITH", "RECURSIVE", ","):
            self.ctes.add(view.tokens[before].text.lower())
