"""Statements as they are cut from a script: their tokens, and the procedure or block around them."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlglot.tokenizer_core import Token

from lakebed.lineage.relations import Refs, Relation
from lakebed.lineage.tables import NamePart

# A script without any of these words has no structure but its semicolons.
_WORDS = (
    "PROC",
    "FUNCTION",
    "TRIGGER",
    "PACKAGE",
    "DECLARE",
    "BEGIN",
    "EXECUTE",
    "IMMEDIATE",
    "TASK",
    "DO ",
    "MACRO",
    "PREPARE",
    "UNLOAD",
)
# SELECT ... INTO gives values to variables here, and `/` on a line of its own ends a block of Oracle's.
_FURTHER_WORDS = {"oracle": ("INTO ", "\n/"), "mysql": ("INTO ", "DELIMITER"), "mariadb": ("INTO ", "DELIMITER")}
_DELIMITER = re.compile(r"^[ \t]*DELIMITER[ \t]+(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)


class Body:
    """The names declared in a procedure, a block or a script, and what is known of their values."""

    __slots__ = ("records", "trigger_table", "variables")

    def __init__(self) -> None:
        # where the value of a variable comes from, so far
        self.variables: dict[str, Refs] = {}
        # rows of a loop or of a cursor
        self.records: dict[str, Relation] = {}
        # the table whose changes a trigger sees: NEW and OLD, T-SQL's inserted and deleted
        self.trigger_table: tuple[NamePart, ...] | None = None


class Piece(NamedTuple):
    """The tokens of one statement."""

    tokens: Sequence[Token]
    text: str
    offset: int
    body: Body | None = None
    # the names that SELECT ... INTO gives values to
    into: tuple[str, ...] = ()
    # the loop or cursor whose rows this query has
    record: str | None = None
    # the place that UNLOAD writes the query's rows to
    place: str | None = None
    # for the head of a routine: its kind, and why its body is not analysed, if it is not
    routine: str | None = None
    name: str = ""
    problem: str | None = None


class Language(NamedTuple):
    """What cutting needs to know of a dialect."""

    tokenize: Callable[[str], list[Token]]
    dialect: str

    @property
    def without_semicolons(self) -> bool:
        return self.dialect in ("tsql", "fabric")

    @property
    def into_variables(self) -> bool:
        """SELECT ... INTO never makes a table."""
        return self.dialect in ("oracle", "mysql", "mariadb")

    @property
    def quotes_bodies(self) -> bool:
        """The text after AS is SQL; elsewhere it names a class or a file."""
        return self.dialect in ("postgres", "redshift", "snowflake", "ansi")

    @property
    def declares_one_by_one(self) -> bool:
        """DECLARE is a statement of its own, not the head of a section."""
        return self.dialect in ("mysql", "mariadb", "bigquery", "spark", "databricks", "trino", "tsql", "fabric")


def is_procedural(sql: str, dialect: str) -> bool:
    """Whether a script may have more structure than its semicolons."""
    if dialect in ("tsql", "fabric"):
        return True
    text = sql.upper()
    return any(word in text for word in (*_WORDS, *_FURTHER_WORDS.get(dialect, ())))


def with_semicolons(sql: str) -> str:
    """The same text with semicolons where MySQL's DELIMITER names other marks; every character keeps its place."""
    parts: list[str] = []
    mark, position = ";", 0
    for match in _DELIMITER.finditer(sql):
        parts += [_marked(sql[position : match.start()], mark), " " * (match.end() - match.start())]
        mark, position = match.group(1), match.end()
    return "".join([*parts, _marked(sql[position:], mark)]) if position else sql


def _marked(text: str, mark: str) -> str:
    return text if mark == ";" else text.replace(mark, ";".ljust(len(mark)))
