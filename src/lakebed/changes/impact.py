"""What a change of columns reaches in a project of SQL, and what it breaks."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

from lakebed.changes.names import ProjectNames, split_name
from lakebed.changes.resolve_again import ChangedColumns, StatementResolver
from lakebed.changes.result import Breakage, ColumnChange, ImpactResult, Place, ReachedColumn
from lakebed.changes.retype import RetypeWalk
from lakebed.changes.walk import ImpactWalk, StatementIndex, unanalysed
from lakebed.errors import ConfigError
from lakebed.lineage.analyze import LineageSchema
from lakebed.lineage.contract import Issue, StatementLineage
from lakebed.lineage.dialects import find_dialect
from lakebed.lineage.gc_pause import defer_full_collections
from lakebed.lineage.project import ProjectLineage, read_project, trace_project


def impact(
    columns: str | Sequence[str] = (),
    *,
    drop: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    retype: Mapping[str, str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    dbt: str | os.PathLike[str] | None = None,
    dialect: str = "spark",
    schema: LineageSchema = None,
    variables: Mapping[str, object] | None = None,
) -> ImpactResult:
    """Everything downstream of columns, and what breaks where they are dropped, renamed or given another type.

    `folder` is a folder of SQL files, `dbt` a dbt project. `orders.amt` is enough where one table ends so; a table's
    name stands for all of its columns.

    >>> from pathlib import Path
    >>> _ = Path("daily.sql").write_text("SELECT day, sum(amt) AS total FROM orders GROUP BY day")
    >>> found = lakebed.impact(drop="orders.amt", folder=".")
    >>> [(one.place.file, one.place.line, one.reason) for one in found.breaks]
    [('daily.sql', 1, 'it names orders.amt, which is gone')]
    """
    project = read_project(folder, dbt=dbt, dialect=dialect, variables=variables)
    traced = trace_project(project, dialect=dialect, schema=schema, references=True)
    return ProjectImpact(traced, dialect=dialect).of(columns, drop=drop, rename=rename, retype=retype)


class ProjectImpact:
    """Questions to a project that was traced once."""

    def __init__(self, traced: ProjectLineage, *, dialect: str = "spark") -> None:
        self.traced = traced
        self.dialect = dialect
        found = find_dialect(dialect)
        exact = found is not None and found.columns != "insensitive"
        self._fold = _as_written if exact else str.lower
        with defer_full_collections():
            self._index = StatementIndex(self.traced.result, self.traced.texts, self._fold)

    @cached_property
    def _names(self) -> ProjectNames:
        return ProjectNames(self.traced, self._index)

    @cached_property
    def _resolver(self) -> StatementResolver:
        return StatementResolver(self._index, self.traced.tables, dialect=self.dialect)

    def _count_conflicts(self, statement: StatementLineage, table: str, column: str) -> list[Issue]:
        """The branches of a set operation that would no longer have as many columns as each other."""
        gone = ChangedColumns(gone=frozenset({(self._fold(table), self._fold(column))}))
        after = self._resolver.resolve(statement, gone)
        return after.new_issues(self._resolver.resolve(statement, ChangedColumns()), ["SET_OPERATION_MISMATCH"])

    def of(
        self,
        columns: str | Sequence[str] = (),
        *,
        drop: str | Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        retype: Mapping[str, str] | None = None,
    ) -> ImpactResult:
        """What these changes reach and break."""
        with defer_full_collections():
            return self._of(columns, drop, rename or {}, retype or {})

    def naming(self, table: str, column: str) -> list[tuple[tuple[str, ...], Place]]:
        """The statements that name a column, each with the roles that it has there."""
        index = self._index
        return [
            (tuple(dict.fromkeys(flow[2] for flow in flows)) or ("named",), index.place(index.statements[place], start))
            for place, start, flows in index.column_readers(index.number(table, column))
            if start is not None
        ]

    def unanalysed(self) -> tuple[Place, ...]:
        """Statements and files of which nothing is known."""
        return tuple(unanalysed(self._index, self.traced.result.issues))

    def _of(
        self,
        columns: str | Sequence[str],
        drop: str | Sequence[str],
        rename: Mapping[str, str],
        retype: Mapping[str, str],
    ) -> ImpactResult:
        changes = [self._change("any", text) for text in _listed(columns)]
        changes += [self._change("drop", text) for text in _listed(drop)]
        changes += [self._change("rename", text, to) for text, to in rename.items()]
        changes += [self._change("retype", text, to) for text, to in retype.items()]
        if not changes:
            raise ConfigError(
                "there is no change to look at", remedy="Name columns, or give --drop, --rename or --retype."
            )
        breaks: list[Breakage] = []
        reached: list[Sequence[ReachedColumn]] = []
        for change in changes:
            if change.kind == "retype":
                types = RetypeWalk(self._index, self._names, self._resolver, change)
                types.run()
                breaks += types.breaks
                reached.append(types.reached)
            else:
                walk = ImpactWalk(self._index, change, self._count_conflicts)
                walk.run(self._names.columns(change.table) if change.column is None else ())
                breaks += walk.breaks.values()
                reached.append(walk.reached)
        return ImpactResult(tuple(changes), tuple(breaks), tuple(reached), self.unanalysed())

    def _change(self, kind: str, text: str, to: str | None = None) -> ColumnChange:
        if kind in ("any", "drop"):
            table, column = self._names.find(text)
            if column is not None:
                column = self._names.column(table, column)
            return ColumnChange("any" if kind == "any" else "drop", table, column)
        table, column = self._names.find_column(text)
        if not to or not to.strip():
            raise ConfigError(f"{text} has no new {'name' if kind == 'rename' else 'type'}", remedy="Write t.c=NEW.")
        if kind == "retype":
            return ColumnChange("retype", table, column, to.strip())
        new = split_name(to)[-1]
        taken = [name for name in self._names.columns(table) if name.lower() == new.lower() != column.lower()]
        if taken:
            raise ConfigError(f"{table} has a column {taken[0]} already", remedy="Choose another name.")
        return ColumnChange("rename", table, column, new)


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _as_written(text: str) -> str:
    return text
