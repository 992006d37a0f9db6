"""Two states of a project: which edges and columns its lineage gained and lost."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lakebed.changes.git_revision import folder_at_revision, is_revision
from lakebed.errors import ConfigError
from lakebed.lineage.analyze import LineageSchema
from lakebed.lineage.contract import ColumnEdge, StatementLineage
from lakebed.lineage.project import ProjectLineage, read_project, trace_project
from lakebed.lineage.project_files import Project


@dataclass(frozen=True, slots=True)
class ComparedEdge:
    """An edge that only one of two states has, and where the statement stands that makes it."""

    source: str
    target: str
    role: str
    approximate: bool
    file: str | None
    line: int

    def to_dict(self) -> dict[str, object]:
        return {
            "source": self.source,
            "target": self.target,
            "role": self.role,
            "approximate": self.approximate,
            "file": self.file,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True)
class LineageDifference:
    """What the lineage of a project gained and lost: edges, tables, and columns of tables that both states have."""

    gained: tuple[ComparedEdge, ...]
    lost: tuple[ComparedEdge, ...]
    tables_gained: tuple[str, ...]
    tables_lost: tuple[str, ...]
    columns_gained: tuple[str, ...]
    columns_lost: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether nothing was gained or lost."""
        return not any(
            (self.gained, self.lost, self.tables_gained, self.tables_lost, self.columns_gained, self.columns_lost)
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "same": self.same,
            "gained": [edge.to_dict() for edge in self.gained],
            "lost": [edge.to_dict() for edge in self.lost],
            "tablesGained": list(self.tables_gained),
            "tablesLost": list(self.tables_lost),
            "columnsGained": list(self.columns_gained),
            "columnsLost": list(self.columns_lost),
        }


def compare_lineage(
    new: str | os.PathLike[str],
    against: str | os.PathLike[str],
    *,
    dbt: bool = False,
    dialect: str = "spark",
    schema: LineageSchema = None,
    variables: Mapping[str, object] | None = None,
) -> LineageDifference:
    """The edges that a folder of SQL gained and lost against another folder, or against a git revision of itself.

    With `dbt` both are dbt projects. A revision has nothing that dbt compiled: both states are then read from the
    project's files.

    >>> from pathlib import Path
    >>> for name, sum_of in (("before", "net"), ("after", "gross")):
    ...     Path(name).mkdir()
    ...     _ = Path(name, "totals.sql").write_text(f"SELECT sum({sum_of}) AS total FROM orders")
    >>> found = lakebed.compare_lineage("after", "before")
    >>> [(edge.source, edge.target) for edge in found.gained], [edge.source for edge in found.lost]
    ([('orders.gross', 'totals.total')], ['orders.net'])
    """
    folder = Path(new)
    with _old_state(folder, against) as (old, from_git):
        states = []
        for place in (folder, old):
            project = _read(place, dbt=dbt, dialect=dialect, variables=variables, artifacts=not from_git)
            states.append(_State(trace_project(project, dialect=dialect, schema=schema), place))
    return _difference(*states)


def _read(place: Path, *, dbt: bool, dialect: str, variables: Mapping[str, object] | None, artifacts: bool) -> Project:
    """A state of the project; a folder that was empty, or was not there yet, has no scripts."""
    if place.is_dir() and not any(place.iterdir()):
        return Project(())
    if dbt:
        return read_project(dbt=place, dialect=dialect, variables=variables, artifacts=artifacts)
    return read_project(place, dialect=dialect, variables=variables)


@contextmanager
def _old_state(folder: Path, against: str | os.PathLike[str]) -> Iterator[tuple[Path, bool]]:
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}", remedy="Two states are compared as folders.")
    old = Path(against)
    if old.is_dir():
        yield old, False
        return
    if old.exists() and not is_revision(folder, str(against)):
        raise ConfigError(f"{old} is a file", remedy="Give a folder, or a git revision.")
    with folder_at_revision(folder, str(against)) as place:
        yield place, True


class _State:
    """The edges, tables and columns of one state, by names that compare."""

    def __init__(self, traced: ProjectLineage, root: Path) -> None:
        self.edges: dict[tuple[str, str, str], ComparedEdge] = {}
        self.columns: dict[str, dict[str, str]] = {}
        texts = traced.texts
        for statement in traced.result.statements:
            target = statement.target or _query_name(statement, root)
            columns = self.columns.setdefault(target.lower(), {})
            columns.update({name.lower(): f"{target}.{name}" for name in statement.outputs})
            for edge in statement.column_lineage:
                compared = _compared(edge, target)
                key = (compared[0].lower(), compared[1].lower(), edge.role)
                if key not in self.edges:
                    line, _ = texts.line_and_column(statement.file, statement.span.start)
                    file = _relative(statement.file, root)
                    self.edges[key] = ComparedEdge(*compared, edge.role, edge.approximate, file, line)

    def table(self, key: str) -> str:
        names = list(self.columns[key].values())
        return names[0].rpartition(".")[0] if names else key


def _compared(edge: ColumnEdge, target: str) -> tuple[str, str]:
    source = ".".join((edge.source_table, edge.source_column, *edge.path))
    return source, f"{target}.{edge.target_column}" if edge.target_column is not None else target


def _query_name(statement: StatementLineage, root: Path) -> str:
    """A query whose rows go to the client is known by its file."""
    return f"<{_relative(statement.file, root) or statement.statement_index}>"


def _relative(file: str | None, root: Path) -> str | None:
    if file is None:
        return None
    path = Path(file)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _difference(new: _State, old: _State) -> LineageDifference:
    both = new.columns.keys() & old.columns.keys()
    return LineageDifference(
        gained=tuple(edge for key, edge in new.edges.items() if key not in old.edges),
        lost=tuple(edge for key, edge in old.edges.items() if key not in new.edges),
        tables_gained=tuple(new.table(key) for key in new.columns if key not in both),
        tables_lost=tuple(old.table(key) for key in old.columns if key not in both),
        columns_gained=_only_in(new, old, both),
        columns_lost=_only_in(old, new, both),
    )


def _only_in(one: _State, other: _State, tables: set[str]) -> tuple[str, ...]:
    return tuple(
        name
        for table, columns in one.columns.items()
        if table in tables
        for key, name in columns.items()
        if key not in other.columns[table]
    )
