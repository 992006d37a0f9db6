"""One statement of a project, resolved again as if columns had other types or were gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakebed.changes.walk import ColumnKey, StatementIndex
from lakebed.lineage.analyze import Analyzer, Script, ScriptTarget
from lakebed.lineage.contract import Issue, StatementLineage
from lakebed.lineage.tables import CatalogTable, NamePart

_MAKERS = ("CREATE", "CACHE", "ALTER_VIEW")


@dataclass(frozen=True, slots=True)
class ChangedColumns:
    """Columns with other types, and columns that are gone."""

    types: Mapping[ColumnKey, str] = field(default_factory=dict)
    gone: frozenset[ColumnKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Resolved:
    """The types of the columns that a statement makes, and its issues."""

    types: Mapping[str, str | None]
    issues: tuple[Issue, ...]

    def new_issues(self, before: "Resolved", codes: Iterable[str]) -> list[Issue]:
        """Issues of these codes that another resolution did not have."""
        known = {(issue.code, issue.message, issue.span) for issue in before.issues}
        wanted = set(codes)
        return [i for i in self.issues if i.code in wanted and (i.code, i.message, i.span) not in known]


class StatementResolver:
    """Resolves statements with the tables that the project ended with."""

    def __init__(self, index: StatementIndex, tables: Iterable[CatalogTable], *, dialect: str) -> None:
        self._index = index
        self._tables = {table.name: table for table in tables}
        self._dialect = dialect

    def resolve(self, statement: StatementLineage, changed: ChangedColumns) -> Resolved:
        """A statement, with only the tables described that it reads or writes."""
        own = statement.target if statement.statement_type.startswith(_MAKERS) else None
        described = [
            self._described(table, changed)
            for use in statement.tables
            if (table := self._tables.get(use.name)) is not None and use.name != own
        ]
        analyzer = Analyzer(dialect=self._dialect, schema={"tables": described}, check_types=True)
        # a view has the columns of its query, as a table has
        target = ScriptTarget(tuple(NamePart(part, True) for part in own.split("."))) if own is not None else None
        analyzer.add(Script(self._index.texts.sql(statement), None, target))
        result = analyzer.result()
        made = next((table for table in result.catalog_tables if table.name == own), None)
        types = {column.name: column.data_type for column in made.columns} if made is not None else {}
        return Resolved(types, result.issues)

    def _described(self, table: CatalogTable, changed: ChangedColumns) -> dict[str, object]:
        columns = []
        for column in table.columns:
            key = (self._index.fold(table.name), self._index.fold(column.name))
            if key not in changed.gone:
                kind = changed.types.get(key, column.data_type)
                columns.append({"name": column.name, **({"dataType": kind} if kind else {})})
        names = dict(zip(("name", "schema", "catalog"), reversed(table.parts), strict=False))
        return {**names, "columns": columns, "complete": table.complete}
