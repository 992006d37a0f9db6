"""An analysis as the explorer draws it: tables with their columns, links between columns, and where each is made."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

from lakebed.lineage.contract import AnalyzeResult, ResolvedTable, StatementLineage
from lakebed.lineage.graph import result_name


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column of a table; `used` where a statement reads or writes it."""

    name: str
    type: str | None
    used: bool


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table, a view or the result of a query."""

    name: str
    kind: str
    # where its columns are known from: imported, implied, unknown; None of a query's result
    resolution: str | None
    columns: tuple[ColumnFacts, ...]
    temporary: bool
    # the statements that write it
    written_by: tuple[int, ...]
    # the file that makes it
    file: str | None
    # the folder of that file, and its schema: what tables can be grouped by
    folder: str
    schema: str


@dataclass(frozen=True, slots=True)
class Link:
    """One column that goes into another, or into the rows of a table; without a source column, a table into another."""

    source: str
    source_column: str | None
    target: str
    target_column: str | None
    role: str
    approximate: bool
    statement: int


class LineageMap:
    """Tables by name, in the order in which the statements name them, and the links between them."""

    def __init__(self, result: AnalyzeResult) -> None:
        self.links: tuple[Link, ...] = tuple(dict.fromkeys(_links(result.statements)))
        self.tables = {table.name: table for table in _tables(result, self.links)}
        self.up: dict[str, dict[str, None]] = {name: {} for name in self.tables}
        self.down: dict[str, dict[str, None]] = {name: {} for name in self.tables}
        for link in self.links:
            if link.source != link.target:
                self.down[link.source][link.target] = None
                self.up[link.target][link.source] = None


def _target(statement: StatementLineage) -> str | None:
    if statement.target is not None:
        return statement.target
    return result_name(statement) if statement.outputs or statement.table_lineage else None


def _links(statements: Iterable[StatementLineage]) -> Iterator[Link]:
    for statement in statements:
        own = _target(statement)
        index = statement.statement_index
        for edge in statement.column_lineage:
            target = edge.target_table or own
            if target is not None:
                yield Link(
                    edge.source_table,
                    edge.source_column,
                    target,
                    edge.target_column,
                    edge.role,
                    edge.approximate,
                    index,
                )
        for flow in statement.table_lineage:
            target = flow.target or own
            if target is not None:
                yield Link(flow.source, None, target, None, "table", flow.approximate, index)


def _tables(result: AnalyzeResult, links: Iterable[Link]) -> Iterator[TableFacts]:
    uses = {use.name: use for statement in result.statements for use in statement.tables}
    known = {_dotted(table).lower(): table for table in result.resolved_schema.tables}
    columns: dict[str, dict[str, None]] = {}
    written: dict[str, dict[int, None]] = {}
    kinds: dict[str, str] = {}
    files = {statement.statement_index: statement.file for statement in result.statements}
    for statement in result.statements:
        target = _target(statement)
        if target is not None:
            columns.setdefault(target, {}).update(dict.fromkeys(statement.outputs))
            written.setdefault(target, {})[statement.statement_index] = None
            kinds.setdefault(target, statement.target_kind if statement.target else "output")
    for link in links:
        for table, column in ((link.source, link.source_column), (link.target, link.target_column)):
            used = columns.setdefault(table, {})
            if column is not None:
                used[column] = None
    for name, used in columns.items():
        declared = known.get(name.lower())
        types = {column.name: column.data_type for column in declared.columns} if declared is not None else {}
        use = uses.get(name)
        file = next((files[index] for index in written.get(name, ())), None)
        yield TableFacts(
            name,
            use.kind if use is not None else kinds.get(name, "table"),
            use.resolution_source if use is not None else None,
            (
                *(ColumnFacts(column, types.get(column), True) for column in used),
                *(ColumnFacts(column, type_, False) for column, type_ in types.items() if column not in used),
            ),
            declared is not None and declared.temporary,
            tuple(written.get(name, ())),
            file,
            str(PurePath(file).parent) if file else "",
            name.rpartition(".")[0],
        )


def _dotted(table: ResolvedTable) -> str:
    return ".".join(part for part in (table.catalog, table.schema, table.name) if part)
