"""The analyses that the explorer shows: that of the files as they are, and those of drafts, which are in no file."""

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lakebed.changes.impact import ProjectImpact
from lakebed.errors import NotFound
from lakebed.lineage.analyze import Script
from lakebed.lineage.graph import LineageGraph
from lakebed.lineage.imports import load_schema
from lakebed.lineage.project import ProjectLineage, read_named, sql_files, trace_project
from lakebed.lineage.project_files import Project, schema_tables
from lakebed.ui.lineage_map import LineageMap
from lakebed.ui.overview import Overview, overview

# What the text of standard input, which has no file, is called.
STDIN = "stdin"
# Analyses that are kept; the oldest goes first, and whoever asks for it analyses again.
KEPT = 12


@dataclass(frozen=True)
class Sources:
    """What the explorer was started with."""

    places: tuple[str, ...] = ()
    dbt: Path | None = None
    schema: tuple[str, ...] = ()
    target: str | None = None
    dialect: str = "spark"
    variables: Mapping[str, object] = field(default_factory=dict)
    workdir: str | None = None

    @property
    def has_sql(self) -> bool:
        return bool(self.places) or self.dbt is not None

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where files may be read from: what was named, and the current folder for nothing else."""
        named = [Path(place) for place in self.places if place != "-"] + ([self.dbt] if self.dbt else [])
        return tuple(dict.fromkeys((path if path.is_dir() else path.parent).resolve() for path in named))


@dataclass(frozen=True)
class Draft:
    """A file as somebody edits it in the browser."""

    file: str
    sql: str


class Analysis:
    """One traced project, and what is asked of it again and again."""

    def __init__(
        self,
        key: str,
        project: Project,
        schema: Mapping[str, object] | None,
        dialect: str,
        traced: ProjectLineage | None = None,
    ) -> None:
        self.key = key
        self.project = project
        self.dialect = dialect
        self.traced = traced or trace_project(project, dialect=dialect, schema=schema, references=True)

    @cached_property
    def lineage(self) -> LineageMap:
        return LineageMap(self.traced.result)

    @cached_property
    def graph(self) -> LineageGraph:
        return LineageGraph.of(self.traced.result)

    @cached_property
    def impact(self) -> ProjectImpact:
        return ProjectImpact(self.traced, dialect=self.dialect)

    @cached_property
    def overview(self) -> Overview:
        return overview(self.lineage)

    @property
    def scripts(self) -> tuple[Script, ...]:
        return self.traced.scripts


class Analyses:
    """The analysis of the files, made again when they change, and those of drafts."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self._kept: OrderedDict[str, Analysis] = OrderedDict()
        # an analysis keeps a core busy: one at a time
        self._lock = threading.Lock()
        self._read: tuple[str, Project] | None = None

    @cached_property
    def imported(self) -> dict[str, object] | None:
        """The schema of --schema and --target."""
        addresses = [*self.sources.schema, *([self.sources.target] if self.sources.target else [])]
        if not addresses:
            return None
        return load_schema(addresses, dialect=self.sources.dialect, workdir=self.sources.workdir)

    def current(self) -> Analysis:
        """The analysis of the files as they are now."""
        return self.of((), ())

    def find(self, key: str) -> Analysis:
        """The analysis of this key; without one the current one."""
        if not key:
            return self.current()
        with self._lock:
            found = self._kept.get(key)
        if found is None:
            raise NotFound(
                f"there is no analysis {key}", uri=key, remedy="It was made too long ago: analyse the SQL again."
            )
        return found

    def of(
        self, drafts: Sequence[Draft], tables: Sequence[Mapping[str, object]], dialect: str | None = None
    ) -> Analysis:
        """The analysis with these drafts in place of files, and these tables in the imported schema."""
        with self._lock:
            stamp, project = self._project()
            used = dialect or self.sources.dialect
            facts = [stamp, used, [[draft.file, draft.sql] for draft in drafts], list(tables)]
            key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
            kept = self._kept.get(key)
            if kept is None:
                schema = with_tables(self.imported, tables)
                kept = self._kept[key] = Analysis(key, with_drafts(project, drafts), schema, used)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return kept

    def _project(self) -> tuple[str, Project]:
        """The scripts, read again only where a file is another one than before."""
        if not self.sources.has_sql:
            return "", Project((), ordered=True)
        stamp = hashlib.sha256("\n".join(self._stamps()).encode()).hexdigest()
        if self._read is None or self._read[0] != stamp:
            sources = self.sources
            project = read_named(sources.places, dbt=sources.dbt, dialect=sources.dialect, variables=sources.variables)
            self._read = stamp, project
        return self._read

    def _stamps(self) -> Iterator[str]:
        if "-" in self.sources.places and self._read is not None:
            # standard input can be read once
            yield self._read[0]
            return
        for place in [*self.sources.places, *([str(self.sources.dbt)] if self.sources.dbt else [])]:
            path = Path(place)
            files = [*sql_files(path), *path.glob("target/*.json"), *path.glob("*.yml")] if path.is_dir() else [path]
            for file in files:
                facts = file.stat() if file.exists() else None
                yield f"{file} {facts.st_mtime_ns} {facts.st_size}" if facts is not None else f"{file} -"


def with_drafts(project: Project, drafts: Sequence[Draft]) -> Project:
    """The project with the text of its files as the drafts have it; a draft of no file is a script behind them."""
    texts = {draft.file: draft.sql for draft in drafts}
    scripts = [
        script._replace(sql=texts.pop(script.file or STDIN), template=None)
        if (script.file or STDIN) in texts
        else script
        for script in project.scripts
    ]
    scripts += [Script(sql, file) for file, sql in texts.items()]
    return project._replace(scripts=tuple(scripts))


def with_tables(
    schema: Mapping[str, object] | None, tables: Sequence[Mapping[str, object]]
) -> Mapping[str, object] | None:
    """The imported schema with these tables in place of those of the same name."""
    if not tables:
        return schema
    kept: dict[str, object] = {}
    for number, table in enumerate([*schema_tables(schema), *tables]):
        parts = (
            [str(table.get(part) or "") for part in ("catalog", "schema", "name")] if isinstance(table, dict) else []
        )
        kept[".".join(filter(None, parts)).lower() or str(number)] = table
    return {**(schema or {}), "tables": list(kept.values())}
