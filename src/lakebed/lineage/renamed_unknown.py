"""Renamed tables whose columns nobody declares: those that other statements name are followed through the rename.

`INSERT INTO n (a) ...; ALTER TABLE n RENAME TO t; SELECT b FROM t`: n had a column a, because it was written, and a
column b, because t has it and nothing came between. What no statement names stays unknown, and the table's own edge
approximate.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from lakebed.lineage.contract import ColumnEdge, StatementLineage


class UnknownRename(NamedTuple):
    """A rename by the statement of this index."""

    statement_index: int
    old: str
    new: str


def follow_renames(
    statements: Sequence[StatementLineage], renames: Sequence[UnknownRename], fold: Callable[[str, bool], str]
) -> list[StatementLineage]:
    """The statements, with edges for the columns that are named before and after the renames."""
    found = list(statements)
    places = {statement.statement_index: place for place, statement in enumerate(found)}
    # what is named after a rename is handed back along a chain of renames, what is named before it is handed on
    for rename in reversed(renames):
        place = places[rename.statement_index]
        _add(found, place, rename, _named(found[place + 1 :], rename.new), fold)
    for rename in renames:
        place = places[rename.statement_index]
        _add(found, place, rename, _named(reversed(found[:place]), rename.old), fold)
    return found


def _named(statements: Iterable[StatementLineage], table: str) -> list[str]:
    """The columns of a table that statements name, up to the one that changes what it is."""
    names: dict[str, None] = {}
    for statement in statements:
        if _changes(statement, table):
            break
        for edge in statement.column_lineage:
            if edge.approximate:
                continue
            if edge.source_table == table:
                names[edge.source_column] = None
            if edge.target_table == table and edge.target_column is not None:
                names[edge.target_column] = None
    return list(names)


def _changes(statement: StatementLineage, table: str) -> bool:
    """Whether a statement makes, drops or alters the table; a rename only passes it on."""
    if not statement.statement_type.startswith(("CREATE", "DROP", "ALTER")):
        return False
    moved = any(edge.target == table and edge.source != table for edge in statement.table_lineage)
    touched = statement.target == table or any(use.name == table for use in statement.tables)
    return touched and not (statement.statement_type == "ALTER" and (moved or statement.table_lineage))


def _add(
    statements: list[StatementLineage],
    place: int,
    rename: UnknownRename,
    names: list[str],
    fold: Callable[[str, bool], str],
) -> None:
    statement = statements[place]
    edges = statement.column_lineage
    known = {fold(edge.source_column, True) for edge in edges if edge.source_table == rename.old}
    added = [
        ColumnEdge(rename.old, name, (), rename.new, name, None, "value", False)
        for name in names
        if fold(name, True) not in known
    ]
    statements[place] = replace(statement, column_lineage=(*edges, *added))
