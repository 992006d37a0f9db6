"""The imported schema of a request, read with care: it is written by hand as often as by a program."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lakebed.errors import LineageError
from lakebed.lineage.model import Origin, ResolvedColumn


class ImportedTable(NamedTuple):
    """A table of the request; its columns are read when they are asked for."""

    parts: tuple[str, ...]
    columns: list[object] | tuple[object, ...]
    complete: bool
    where: str

    def read_columns(self) -> tuple[ResolvedColumn, ...]:
        return tuple(_column(column, self.where) for column in self.columns)


def imported_tables(request: Mapping[str, object]) -> Iterator[ImportedTable]:
    """The tables of a request's schema, each checked for its shape."""
    tables = request.get("tables") or []
    if not isinstance(tables, list | tuple):
        raise LineageError("schema.tables is not a list", remedy='Give [{"name": "t", "columns": [...]}, ...].')
    for number, table in enumerate(tables):
        where = f"schema.tables[{number}]"
        if not isinstance(table, dict):
            raise LineageError(f"{where} is not an object", remedy='A table is {"name": ..., "columns": [...]}.')
        name = text(table, "name")
        if name is None:
            raise LineageError(f"{where} has no name", remedy='A table is {"name": ..., "columns": [...]}.')
        columns = table.get("columns") or []
        if not isinstance(columns, list | tuple):
            raise LineageError(f"{where}.columns is not a list", remedy='Give [{"name": "id"}, ...].')
        parts = tuple(part for part in (text(table, "catalog"), text(table, "schema"), name) if part)
        yield ImportedTable(parts, columns, bool(columns) and table.get("complete", True) is not False, where)


def _column(column: object, where: str) -> ResolvedColumn:
    if isinstance(column, str):
        return ResolvedColumn(column)
    if isinstance(column, dict) and (name := text(column, "name")) is not None:
        origin: Origin | None = "implied" if column.get("origin") == "implied" else None
        return ResolvedColumn(name, text(column, "dataType"), origin)
    raise LineageError(f"{where}.columns holds {column!r}", remedy='A column is {"name": ..., "dataType": ...}.')


def text(mapping: Mapping[str, object], name: str) -> str | None:
    """A text of the request, or None where it is not given."""
    value = mapping.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise LineageError(f"schema: {name} is {value!r}, which is not text", remedy="Give it as a string.")
    return value
