"""The views that a target holds: what happens to a table's column happens to the columns that a view makes of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lakebed.changes.next_schema import ColumnFate, NextTarget
from lakebed.lineage.analyze import Script, analyze
from lakebed.lineage.contract import VALUE_ROLES
from lakebed.lineage.imports import DuckdbView

ColumnKey = tuple[str, str]


@dataclass(frozen=True)
class ImportedView:
    """A view's columns, and the columns of tables that each is made of."""

    name: str
    schema: dict[str, object]
    sources: dict[str, frozenset[ColumnKey]]

    def named(self, parts: tuple[str, ...]) -> dict[str, object]:
        """The view under the name that a query has for it."""
        names = dict(zip(("name", "schema", "catalog"), reversed(parts), strict=False))
        return {**self.schema, **names}


def imported_view(view: DuckdbView, target: NextTarget) -> ImportedView:
    """A view as lineage imports it, traced in the dialect in which DuckDB keeps it."""
    others = [other.sql for other in target.views]
    tables = [table.to_schema() for table in target.tables]
    result = analyze([Script(sql) for sql in (*others, view.sql)], dialect="duckdb", schema={"tables": tables})
    statement = result.statements[-1]
    own = next(
        (one for one in result.resolved_schema.tables if one.name.lower() == view.name.lower()),
        None,
    )
    columns = [] if own is None else [column.to_dict() for column in own.columns]
    found: dict[str, set[ColumnKey]] = {}
    for edge in statement.column_lineage:
        if edge.target_column is not None and edge.role in VALUE_ROLES:
            key = (edge.source_table.lower(), edge.source_column.lower())
            found.setdefault(edge.target_column, set()).add(key)
    schema: dict[str, object] = {"name": view.name, "columns": columns}
    if view.schema != "main":
        schema["schema"] = view.schema
    return ImportedView(view.name, schema, {name: frozenset(keys) for name, keys in found.items()})


def view_fates(views: Iterable[ImportedView], target: NextTarget) -> Iterator[tuple[str, ColumnFate]]:
    """What happens to columns of views: all that one is made of is lost, or the one that it is made of changes."""
    fates = {
        (table.name.lower(), fate.column.lower()): fate
        for table in target.tables
        for fate in table.fates
        if fate.kind in ("null", "tag", "renamed")
    }
    waiting = [(view.name, column, sources) for view in views for column, sources in view.sources.items() if sources]
    while True:
        # views read views: what one loses, the next may lose too
        lost = [one for one in waiting if one[2] <= fates.keys()]
        if not lost:
            return
        waiting = [one for one in waiting if one not in lost]
        for name, column, sources in lost:
            fate = fates[min(sources)]
            passed = replace(fate, column=column, reason=f"{fate.reason}; {name}.{column} is made of it")
            fates[name.lower(), column.lower()] = passed
            yield name, passed
