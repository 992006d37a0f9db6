"""The imported schema as JSON, checked: it is written by hand as often as by a program."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from lakebed.errors import LineageError

_TEXT: frozenset[type] = frozenset({str})
_OBJECT: frozenset[type] = frozenset({dict})
_LIST_OR_NONE: frozenset[type] = frozenset({list, tuple, type(None)})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})


class ImportedTable(NamedTuple):
    """A table of the imported schema; its columns are checked when they are read."""

    parts: tuple[str, ...]
    columns: Sequence[Any]
    complete: bool
    # its place in the list, for messages
    number: int

    def column_names(self) -> list[str] | None:
        """The names alone, which is all that most statements need; None where the columns have to be looked at."""
        try:
            names = [column["name"] for column in self.columns]
            kinds = set(map(type, [column.get("dataType") for column in self.columns]))
        except (TypeError, KeyError, AttributeError):
            return None
        return names if all(names) and set(map(type, names)) <= _TEXT and kinds <= _TEXT_OR_NONE else None

    def json_columns(self) -> list[dict[str, object]] | None:
        """What `column_names` found plain, as `resolvedSchema` lists it; None where a column has no type."""
        try:
            columns = [{"name": c["name"], "dataType": c["dataType"], "origin": "imported"} for c in self.columns]
        except KeyError:
            return None
        return columns if all(map(itemgetter("dataType"), columns)) else None

    def read_columns(self) -> list[tuple[str, str | None, bool]]:
        """Name, type and whether an earlier analysis implied it, column by column."""
        try:
            # the common form first: a schema of thousands of columns is read at every analysis
            found = [(c["name"], c.get("dataType") or None, c.get("origin") == "implied") for c in self.columns]
        except (TypeError, KeyError, AttributeError):
            return list(self._checked_columns())
        for name, kind, _ in found:
            if type(name) is not str or not name or (kind is not None and type(kind) is not str):
                return list(self._checked_columns())
        return found

    def _checked_columns(self) -> Iterator[tuple[str, str | None, bool]]:
        for column in self.columns:
            if type(column) is dict:
                name, kind = column.get("name"), column.get("dataType")
                if type(name) is str and name and (kind is None or type(kind) is str):
                    yield name, kind or None, column.get("origin") == "implied"
                    continue
            elif type(column) is str and column:
                yield column, None, False
                continue
            raise LineageError(
                f"schema.tables[{self.number}].columns holds {column!r}",
                remedy='A column is {"name": ..., "dataType": ...}, both text.',
            )


def plain_names(schema: Mapping[str, object]) -> list[tuple[str, ...]] | None:
    """The names of the imported tables, where nothing about them has to be looked at; None where something has.

    A schema of thousands of tables is read at every analysis, and a script reads three of them.
    """
    tables = schema.get("tables")
    if type(tables) is not list or not {type(table) for table in tables} <= _OBJECT:
        return None
    try:
        names = [table["name"] for table in tables]
    except KeyError:
        return None
    around = [(table.get("catalog"), table.get("schema")) for table in tables]
    columns = {type(table.get("columns")) for table in tables}
    if not {type(name) for name in names} <= _TEXT or not all(names) or not columns <= _LIST_OR_NONE:
        return None
    if not {type(part) for pair in around for part in pair} <= _TEXT_OR_NONE or "." in "".join(names):
        return None
    if not any(schema or catalog for catalog, schema in around):
        return [(name,) for name in names]
    found = [
        tuple([part for part in (catalog, schema, name) if part])
        for (catalog, schema), name in zip(around, names, strict=True)
    ]
    return None if any("." in part for parts in found for part in parts[:-1]) else found


def imported_table(schema: Mapping[str, Any], parts: tuple[str, ...], number: int) -> ImportedTable:
    """One table of a schema that has plain names."""
    table = schema["tables"][number]
    columns = table.get("columns") or []
    return ImportedTable(parts, columns, bool(columns) and table.get("complete", True) is not False, number)


def imported_tables(schema: Mapping[str, object]) -> Iterator[ImportedTable]:
    """The tables of the imported schema, each checked for its shape."""
    tables = schema.get("tables") or []
    if not isinstance(tables, list | tuple):
        raise LineageError("schema.tables is not a list", remedy='Give [{"name": "t", "columns": [...]}, ...].')
    for number, table in enumerate(tables):
        if not isinstance(table, dict):
            raise LineageError(
                f"schema.tables[{number}] is not an object", remedy='A table is {"name": ..., "columns": [...]}.'
            )
        names = table.get("catalog"), table.get("schema"), table.get("name")
        columns = table.get("columns") or []
        if names[2] is None or not {type(name) for name in names} <= _TEXT_OR_NONE:
            names = text(table, "catalog"), text(table, "schema"), text(table, "name")
        if not names[2]:
            raise LineageError(
                f"schema.tables[{number}] has no name", remedy='A table is {"name": ..., "columns": [...]}.'
            )
        if not isinstance(columns, list | tuple):
            raise LineageError(f"schema.tables[{number}].columns is not a list", remedy='Give [{"name": "id"}, ...].')
        parts = tuple([name for name in names if name])
        yield ImportedTable(parts, columns, bool(columns) and table.get("complete", True) is not False, number)


def text(mapping: Mapping[str, object], name: str) -> str | None:
    """A text of the imported schema, or None where it is not given."""
    value = mapping.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise LineageError(f"schema: {name} is {value!r}, which is not text", remedy="Give it as a string.")
    return value
