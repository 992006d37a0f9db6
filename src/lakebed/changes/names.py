"""Which table and column a user means: `orders.amt` is enough where one table ends so."""

import difflib
import re
from collections.abc import Sequence

from lakebed.changes.walk import StatementIndex
from lakebed.errors import ConfigError
from lakebed.lineage.contract import StatementLineage
from lakebed.lineage.project import ProjectLineage

_PARTS = re.compile(r'"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|([^."`\[\]]+)')


def split_name(text: str) -> tuple[str, ...]:
    """The parts of a dotted name, quoted or not."""
    parts = [next(part for part in match.groups() if part is not None) for match in _PARTS.finditer(text.strip())]
    if not parts or not all(parts):
        raise ConfigError(f"{text!r} is no name of a column", remedy="Write table.column.")
    return tuple(parts)


class ProjectNames:
    """The tables and columns that occur in a lineage, or in the schema that it used."""

    def __init__(self, traced: ProjectLineage, index: StatementIndex) -> None:
        self._index = index
        # users type names as they remember them
        self._fold = fold = str.lower
        self._schema = {table.name: table for table in traced.tables}
        self._types: dict[str, dict[str, str | None]] = {}
        self._tables: dict[str, str] = {}
        for table in traced.tables:
            self._tables.setdefault(fold(table.name), table.name)
        for statement in traced.result.statements:
            for use in statement.tables:
                self._tables.setdefault(fold(use.name), use.name)
            if statement.target is not None:
                self._tables.setdefault(fold(statement.target), statement.target)

    def find(self, text: str) -> tuple[str, str | None]:
        """The table and column that a text names; the column is None where it names a table."""
        parts = split_name(text)
        as_table = self._matching(parts)
        as_column = self._matching(parts[:-1]) if len(parts) > 1 else []
        if as_column:
            return self._one(as_column, ".".join(parts[:-1])), parts[-1]
        if as_table:
            return self._one(as_table, ".".join(parts)), None
        wanted = ".".join(parts[:-1]) or parts[0]
        near = difflib.get_close_matches(self._fold(wanted), list(self._tables), n=3, cutoff=0.5)
        known = ", ".join(self._tables[name] for name in near) or ", ".join(sorted(self._tables.values())[:10])
        raise ConfigError(
            f"no table of this project is called {wanted}", remedy=f"Did you mean one of these: {known or 'none'}?"
        )

    def find_column(self, text: str) -> tuple[str, str]:
        """The table and the column that a text names."""
        table, column = self.find(text)
        if column is None:
            raise ConfigError(f"{text} is a table", remedy="Write table.column.")
        return table, self.column(table, column)

    def column(self, table: str, column: str) -> str:
        """A column as the project spells it; one that the table is known not to have is refused."""
        known = self.columns(table)
        found = next((name for name in known if self._fold(name) == self._fold(column)), None)
        if found is not None:
            return found
        described = self._schema.get(table)
        if described is not None and described.complete:
            near = difflib.get_close_matches(column, known, n=5, cutoff=0.4) or known[:10]
            raise ConfigError(f"{table} has no column {column}", remedy=f"It has {', '.join(near)}.")
        return column

    def columns(self, table: str) -> Sequence[str]:
        """The columns of a table: those of the schema, and those that a statement writes or reads."""
        described = self._schema.get(table)
        found = dict.fromkeys(column.name for column in described.columns) if described is not None else {}
        for statement in self._index.touching(table):
            if statement.target == table:
                found.update(dict.fromkeys(statement.outputs))
            found.update(dict.fromkeys(name for name in _named(statement, table) if name))
        return list(found)

    def type_of(self, table: str, column: str) -> str | None:
        """The type of a column, where it is known."""
        types = self._types.get(table)
        if types is None:
            described = self._schema.get(table)
            columns = described.columns if described is not None else ()
            types = self._types[table] = {self._fold(one.name): one.data_type for one in columns}
        return types.get(self._fold(column))

    def _matching(self, parts: Sequence[str]) -> list[str]:
        name = self._fold(".".join(parts))
        exact = self._tables.get(name)
        if exact is not None:
            return [exact]
        return sorted(spelled for folded, spelled in self._tables.items() if folded.endswith(f".{name}"))

    def _one(self, found: list[str], wanted: str) -> str:
        if len(found) > 1:
            raise ConfigError(f"{wanted} is the end of several tables", remedy=f"Write one of {', '.join(found)}.")
        return found[0]


def _named(statement: StatementLineage, table: str) -> list[str]:
    read = [edge.source_column for edge in statement.column_lineage if edge.source_table == table]
    return read + [reference.column for reference in statement.references if reference.table == table]
