"""Whole projects: a folder of SQL files, or a dbt project, analysed as one.

A file that cannot be read or rendered is an issue, and the others are analysed. Files run in the order of what they
read, whatever they are called.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lakebed.errors import ConfigError, LineageError, NotFound
from lakebed.lineage.analyze import Analyzer, LineageSchema, Script, ScriptTarget, imported_schema
from lakebed.lineage.catalog import Catalog, TableKey
from lakebed.lineage.contract import AnalyzeResult, Issue
from lakebed.lineage.dbt_project import read_dbt_manifest, read_dbt_project
from lakebed.lineage.dbt_words import ModelConfig, config_recorder
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.gc_pause import defer_full_collections
from lakebed.lineage.project_files import Project, joined_projects, read_sql, schema_tables, template_issue
from lakebed.lineage.project_order import FileOrder, order_files
from lakebed.lineage.sqlmesh_model import read_model
from lakebed.lineage.tables import CatalogTable, NamePart
from lakebed.lineage.templates import looks_like_template, make_environment, render


@dataclass(frozen=True)
class ProjectLineage:
    """The lineage of a project, with the texts that its positions are in."""

    result: AnalyzeResult
    scripts: tuple[Script, ...]
    # those of the schema that no statement reads, too
    tables: tuple[CatalogTable, ...] = ()

    @property
    def texts(self) -> ScriptTexts:
        return ScriptTexts(self.scripts)


def analyze_project(
    folder: str | os.PathLike[str] | None = None,
    *,
    dbt: str | os.PathLike[str] | None = None,
    dialect: str = "spark",
    schema: LineageSchema = None,
    variables: Mapping[str, object] | None = None,
    allow_implied: bool = True,
    merge_columns: bool = False,
) -> AnalyzeResult:
    """The lineage of a whole project: every SQL file below `folder`, or the models of the dbt project `dbt`.

    A file that is one query makes the table of its name, or of its dbt config. Files are taken in the order of what
    they read; files that read each other's tables, cannot be read or cannot be rendered are issues.

    >>> from pathlib import Path
    >>> _ = Path("orders.sql").write_text("SELECT id, amount FROM raw_orders")
    >>> _ = Path("daily.sql").write_text("SELECT sum(amount) AS total FROM orders")
    >>> [statement.target for statement in lakebed.analyze_project(".").statements]
    ['orders', 'daily']
    """
    project = read_project(folder, dbt=dbt, dialect=dialect, variables=variables)
    return trace_project(
        project, dialect=dialect, schema=schema, allow_implied=allow_implied, merge_columns=merge_columns
    ).result


def read_project(
    folder: str | os.PathLike[str] | None = None,
    *,
    dbt: str | os.PathLike[str] | None = None,
    dialect: str = "spark",
    variables: Mapping[str, object] | None = None,
    artifacts: bool = True,
) -> Project:
    """The scripts of a folder or of a dbt project; without `artifacts` what dbt compiled is not looked at."""
    if (folder is None) == (dbt is None):
        raise ConfigError(
            "a project is a folder of SQL files or a dbt project", remedy="Give one of the two: folder or dbt."
        )
    if dbt is not None:
        return read_dbt_project(Path(dbt), dialect=dialect, variables=variables or {}, artifacts=artifacts)
    return read_folder(Path(folder or "."), variables or {})


def read_named(
    places: Sequence[str],
    *,
    dbt: Path | None = None,
    manifest: Path | None = None,
    dialect: str = "spark",
    variables: Mapping[str, object] | None = None,
) -> Project:
    """The scripts of everything that was named: files, folders, `-` for stdin, a dbt project, a dbt manifest.

    Files on their own keep the order in which they were given.
    """
    values = variables or {}
    parts: list[Project] = []
    if dbt is not None:
        parts.append(read_project(dbt=dbt, dialect=dialect, variables=values))
    if manifest is not None:
        parts.append(read_dbt_manifest(manifest, dialect=dialect, variables=values))
    for place in places:
        if Path(place).is_dir():
            parts.append(read_folder(Path(place), values))
        else:
            parts.append(Project((_read_file(place, values),), ordered=True))
    if not parts:
        raise ConfigError("there is nothing to analyse", remedy="Give SQL files, folders, `-` for stdin, or --dbt DIR.")
    return joined_projects(parts)


def _read_file(file: str, variables: Mapping[str, object]) -> Script:
    if file == "-":
        sql = sys.stdin.read()
    else:
        path = Path(file)
        if not path.is_file():
            raise NotFound(f"the SQL file {file} is not there", uri=file, remedy="Check the path.")
        try:
            sql = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{file} is not text in UTF-8", remedy="Convert it to UTF-8.") from error
    text = render(sql, variables, file=file) if looks_like_template(sql) else sql
    return Script(text, None if file == "-" else file, template=sql if text != sql else None)


def trace_project(
    project: Project,
    *,
    dialect: str = "spark",
    schema: LineageSchema = None,
    allow_implied: bool = True,
    merge_columns: bool = False,
    references: bool = False,
    transformations: bool = False,
) -> ProjectLineage:
    """The lineage of scripts that were read, in the order of what they read."""
    imported = _joined(project.schema, imported_schema(schema, dialect=dialect))
    analyzer = Analyzer(
        dialect=dialect,
        schema=imported,
        allow_implied=allow_implied,
        merge_columns=merge_columns,
        references=references,
        transformations=transformations,
    )
    with defer_full_collections():
        parsed = [analyzer.parse(script) for script in project.scripts]
        order = FileOrder(tuple(range(len(parsed))), ())
        if not project.ordered:
            order = order_files(parsed, analyzer.catalog)
        for place in order.places:
            analyzer.add_parsed(parsed[place], project.scripts[place].file)
        result = analyzer.result()
    cycles = [_cycle_issue([project.scripts[place] for place in group]) for group in order.cycles]
    issues = (*project.issues, *_same_names(project.scripts, analyzer.catalog), *cycles, *result.issues)
    scripts = tuple(project.scripts[place] for place in order.places)
    return ProjectLineage(replace(result, issues=issues), scripts, analyzer.catalog.known_tables())


def _joined(own: Mapping[str, object] | None, given: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """The schema that a project brings, and the one that the user gives, which wins."""
    if own is None or given is None:
        return given if own is None else own
    return {**own, **given, "tables": [*schema_tables(own), *schema_tables(given)]}


def _same_names(scripts: Sequence[Script], catalog: Catalog) -> Iterator[Issue]:
    """Files whose queries make tables of one name: what the first makes is lost to those who read it."""
    files: dict[TableKey, str | None] = {}
    for script in scripts:
        if script.target is not None:
            key = catalog.declared_key(script.target.parts)
            first = files.setdefault(key, script.file)
            if first != script.file and _makes_its_target(script):
                yield Issue(
                    "DUPLICATE_MODEL",
                    "warning",
                    f"{first} and {script.file} both make {'.'.join(part.text for part in script.target.parts)}",
                    "Rename one of the files, or give one an alias in its config.",
                    file=script.file,
                )


def _makes_its_target(script: Script) -> bool:
    """Whether a script can be the query of a model; one that creates its tables itself has no use for its name."""
    return re.search(r"^\s*(CREATE|INSERT|MERGE|UPDATE|DELETE|ALTER|DROP)\b", script.sql, _SEARCH) is None


_SEARCH = re.IGNORECASE | re.MULTILINE


def _cycle_issue(scripts: Sequence[Script]) -> Issue:
    files = [script.file or "script" for script in scripts]
    shown = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
    return Issue(
        "DEPENDENCY_CYCLE",
        "warning",
        f"these files read each other's tables, so that none of them can run first: {shown}",
        "Take one of the references out; until then the files are analysed in the order of their names.",
        file=files[0],
    )


def read_folder(folder: Path, variables: Mapping[str, object]) -> Project:
    """Every `*.sql` below a folder; hidden folders are left out, and links to folders are not followed."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", uri=str(folder), remedy="Check the path.")
    scripts: list[Script] = []
    issues: list[Issue] = []
    for path in sql_files(folder):
        text = read_sql(path, issues)
        if text is None:
            continue
        try:
            scripts.append(_script(text, path, variables))
        except LineageError as error:
            issues.append(template_issue(error, str(path)))
    if not scripts and not issues:
        raise ConfigError(f"there are no .sql files below {folder}", remedy="Check the path.")
    return Project(tuple(scripts), tuple(issues))


def sql_files(folder: Path) -> Iterator[Path]:
    """The SQL files below a folder, in the order of their names."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(place, name) for name in files if name.lower().endswith(".sql")]
    # a pipe or device of that name would be waited for
    yield from sorted(path for path in found if path.is_file())


def _script(text: str, path: Path, variables: Mapping[str, object]) -> Script:
    model = read_model(text)
    if model is not None:
        made = ScriptTarget(tuple(NamePart(part) for part in model.name), model.kind) if model.name else None
        return Script(model.sql, str(path), made)
    config = ModelConfig()
    sql = text
    if looks_like_template(text):
        words = {"config": config_recorder(config)}
        environment = make_environment(variables, file=str(path), words=words)
        sql = render(text, variables, file=str(path), environment=environment)
    name = config.text("alias") or path.stem
    parts = [part for part in (config.text("database"), config.text("schema"), name) if part]
    target = ScriptTarget(tuple(NamePart(part) for part in parts), config.kind)
    return Script(sql, str(path), target, text if sql != text else None)
