"""The imported schema as JSON, checked: it is written by hand as often as by a program."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lakebed.errors import LineageError

_TEXT: frozenset[type] = frozenset({str})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})


class ImportedTable(NamedTuple):
    """A table of the imported schema; its columns are checked when they are read."""

    parts: tuple[str, ...]
    columns: Sequence[Any]
    complete: bool
    where: str

    def column_names(self) -> list[str] | None:
        """The names alone, which is all that most statements need; None where the columns have to be looked at."""
        try:
            names = [column["name"] for column in self.columns]
            kinds = {type(column.get("dataType")) for column in self.columns}
        except (TypeError, KeyError, AttributeError):
            return None
        return names if all(names) and set(map(type, names)) <= _TEXT and kinds <= _TEXT_OR_NONE else None

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
                f"{self.where}.columns holds {column!r}",
                remedy='A column is {"name": ..., "dataType": ...}, both text.',
            )


def imported_tables(schema: Mapping[str, object]) -> Iterator[ImportedTable]:
    """The tables of the imported schema, each checked for its shape."""
    tables = schema.get("tables") or []
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


def text(mapping: Mapping[str, object], name: str) -> str | None:
    """A text of the imported schema, or None where it is not given."""
    value = mapping.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise LineageError(f"schema: {name} is {value!r}, which is not text", remedy="Give it as a string.")
    return value
