"""The models of a dbt project as scripts, from what dbt compiled where there is something, else from the files.

`target/manifest.json` knows every model's name in the warehouse and, after `dbt compile`, its SQL. Without it the
project's own files are read: models, macros, seeds, snapshots, and the YAML that says where sources lie.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakebed.errors import ConfigError, LineageError
from lakebed.lineage.analyze import Script, ScriptTarget
from lakebed.lineage.contract import Issue
from lakebed.lineage.dbt_artifacts import DbtNode, catalog_columns, dbt_tables, read_artifact
from lakebed.lineage.dbt_files import DbtFiles, ModelFile
from lakebed.lineage.dbt_words import DbtWords, ModelConfig, RelationName, stub_type
from lakebed.lineage.dialects import find_dialect
from lakebed.lineage.identifiers import table_parts
from lakebed.lineage.project_files import Project, template_issue
from lakebed.lineage.tables import NamePart
from lakebed.lineage.template_limits import LimitedEnvironment
from lakebed.lineage.templates import looks_like_template, make_environment, read_macros, render


def read_dbt_project(
    folder: Path, *, dialect: str = "spark", variables: Mapping[str, object] | None = None, artifacts: bool = True
) -> Project:
    """The models of the project in a folder; without `artifacts` what dbt compiled is not looked at."""
    if not folder.exists():
        raise ConfigError(f"there is no dbt project at {folder}", remedy="Give the folder that has dbt_project.yml.")
    manifest = _find_manifest(folder) if artifacts else None
    if manifest is not None:
        return read_dbt_manifest(manifest, dialect=dialect, variables=variables)
    if not (folder / "dbt_project.yml").is_file():
        raise ConfigError(
            f"{folder} is no dbt project: it has neither dbt_project.yml nor target/manifest.json",
            remedy="Give the folder that has dbt_project.yml.",
        )
    return _FileReader(DbtFiles.read(folder), dialect, variables or {}).project()


def _find_manifest(folder: Path) -> Path | None:
    if folder.is_file():
        return folder
    target = os.environ.get("DBT_TARGET_PATH") or DbtFiles.target_path(folder)
    places = (folder / target / "manifest.json", folder / "manifest.json")
    return next((place for place in places if place.is_file()), None)


def read_dbt_manifest(path: Path, *, dialect: str = "spark", variables: Mapping[str, object] | None = None) -> Project:
    """The models of a manifest, with the tables that it and the catalog beside it describe."""
    manifest = read_artifact(path, "manifest", remedy="Run dbt compile, and give target/manifest.json.")
    catalog_path = path.parent / "catalog.json"
    issues: list[Issue] = []
    catalog: Mapping[str, object] = {}
    if catalog_path.is_file():
        try:
            catalog = read_artifact(catalog_path, "catalog", remedy="Run dbt docs generate.")
        except ConfigError as error:
            issues.append(
                Issue("UNREADABLE_FILE", "warning", error.message, error.remedy or "", file=str(catalog_path))
            )
    return _ManifestReader(manifest, catalog, dialect, variables or {}, issues).project()


class _Renderer:
    """Renders models with dbt's words; stubs and failures become issues of the model."""

    def __init__(self, words: DbtWords, issues: list[Issue]) -> None:
        self._words = words
        self._issues = issues
        self._environment: LimitedEnvironment = make_environment(
            words.variables, words=words.for_model(), undefined=stub_type(words.record_stub)
        )

    def add_macros(self, text: str, file: str) -> None:
        """Makes the macros of a file words of the project; those of a file that Jinja cannot read stay stubs."""
        try:
            found = read_macros(text, self._environment, file=file)
        except LineageError as error:
            self._issues.append(template_issue(error, file))
            return
        for name, macro in found.items():
            self._words.define_macro(name, macro)

    def render(self, sql: str, config: ModelConfig, this: RelationName, file: str) -> tuple[str, frozenset[str]] | None:
        """The model's SQL and the models that it names; None where it cannot be rendered."""
        run = self._words.begin(config, this)
        self._environment.globals |= self._words.for_model()
        try:
            text = render(sql, {}, file=file, environment=self._environment)
        except LineageError as error:
            self._issues.append(template_issue(error, file))
            return None
        for name in run.stubs:
            self._issues.append(
                Issue(
                    "UNKNOWN_MACRO",
                    "warning",
                    f"the macro {name} is not here, and is taken for a function of its arguments",
                    "Run dbt compile: what it writes into target/ has every macro resolved.",
                    file=file,
                )
            )
        return text, frozenset(run.refs)


class _ManifestReader:
    """Names and SQL from a manifest."""

    def __init__(
        self,
        manifest: Mapping[str, object],
        catalog: Mapping[str, object],
        dialect: str,
        variables: Mapping[str, object],
        issues: list[Issue],
    ) -> None:
        self._nodes = list(DbtNode.of(manifest))
        self._catalog = catalog
        self._dialect = dialect
        found = find_dialect(dialect)
        self._parser = found.parser if found is not None else ""
        self._issues = issues
        self._models = {node.name: node for node in self._nodes if node.kind in ("model", "seed", "snapshot")}
        self._versions = {(node.name, node.version): node for node in self._models.values() if node.version}
        self._sources = {(node.source, node.name): node for node in self._nodes if node.kind == "source"}
        words = DbtWords(self, variables, dialect=dialect, project="")
        self._renderer = _Renderer(words, issues)

    def model(self, name: str, package: str | None, version: str | None) -> RelationName:
        node = self._versions.get((name, version)) if version else None
        node = node or self._models.get(name)
        return node.relation if node is not None else RelationName((name,))

    def source(self, source: str, table: str) -> RelationName:
        node = self._sources.get((source, table))
        return node.relation if node is not None else RelationName((source, table))

    def project(self) -> Project:
        scripts: list[Script] = []
        traced: set[str] = set()
        for node in sorted(self._nodes, key=lambda node: (node.file, node.unique_id)):
            if node.kind in ("model", "snapshot") and (script := self._script(node)) is not None:
                scripts.append(script)
                traced.add(node.unique_id)
        # what SQL makes is known from the SQL; the rest is what dbt found in the warehouse, or the project documents
        tables = dbt_tables([n for n in self._nodes if n.unique_id not in traced], catalog_columns(self._catalog))
        return Project(tuple(scripts), tuple(self._issues), {"tables": tables} if tables else None)

    def _script(self, node: DbtNode) -> Script | None:
        if node.language != "sql":
            self._issues.append(
                Issue(
                    "UNSUPPORTED_SYNTAX",
                    "info",
                    f"{node.file} is a {node.language} model: its columns are those of dbt's catalog",
                    "Run dbt docs generate, so that its columns are known.",
                    file=node.file,
                )
            )
            return None
        target = ScriptTarget(_relation_parts(node, self._parser), node.config.kind)
        if node.compiled:
            return Script(node.compiled.strip().rstrip(";"), node.file, target, node.raw or None)
        sql = node.raw
        if looks_like_template(sql):
            rendered = self._renderer.render(sql, node.config, node.relation, node.file)
            if rendered is None:
                return None
            sql = rendered[0]
        return Script(sql, node.file, target, node.raw) if sql.strip() else None


def _relation_parts(node: DbtNode, parser: str) -> tuple[NamePart, ...]:
    """A model's name in the warehouse, quoted where dbt quotes it."""
    if node.relation.written is not None:
        try:
            return tuple(table_parts(exp.to_table(node.relation.written, dialect=parser or None)))
        except SqlglotError:
            pass
    return tuple(NamePart(part) for part in node.relation.parts)


class _FileReader:
    """Names and SQL from the files of a project, without anything that dbt wrote."""

    def __init__(self, files: DbtFiles, dialect: str, variables: Mapping[str, object]) -> None:
        self._files = files
        self._issues = list(files.issues)
        self._relations = {file.name: _relation(file.name, file.config) for file in files.models}
        self._relations |= {seed.name: _relation(seed.name, seed.config) for seed in files.seeds}
        self._words = DbtWords(self, {**files.variables, **variables}, dialect=dialect, project=files.name)
        self._renderer = _Renderer(self._words, self._issues)
        for file, text in files.macros.items():
            self._renderer.add_macros(text, file)

    def model(self, name: str, package: str | None, version: str | None) -> RelationName:
        wanted = [f"{name}_v{version}", f"{name}.v{version}", name] if version else [name]
        return next((self._relations[one] for one in wanted if one in self._relations), RelationName((name,)))

    def source(self, source: str, table: str) -> RelationName:
        return RelationName(self._files.sources.get((source, table), (source, table)))

    def project(self) -> Project:
        rendered = {file: self._render(file) for file in self._files.models}
        # a config inside of a model may give it another name, which models rendered before did not know
        renamed: set[str] = set()
        for file in self._files.models:
            relation = _relation(file.name, file.config)
            if relation != self._relations[file.name]:
                self._relations[file.name] = relation
                renamed.add(file.name)
        scripts: list[Script] = []
        for file, found in rendered.items():
            if found is not None and (found[1] & renamed or file.name in renamed):
                found = self._render(file, quiet=True)
            if found is None:
                continue
            relation = self._relations[file.name]
            target = ScriptTarget(tuple(NamePart(part) for part in relation.parts), file.config.kind)
            scripts.append(Script(found[0], file.path, target, file.text if found[0] != file.text else None))
        return Project(tuple(scripts), tuple(self._issues), {"tables": list(self._tables())})

    def _render(self, file: ModelFile, *, quiet: bool = False) -> tuple[str, frozenset[str]] | None:
        if not looks_like_template(file.text):
            return file.text, frozenset()
        before = len(self._issues)
        found = self._renderer.render(file.text, file.config, self._relations[file.name], file.path)
        if quiet:
            del self._issues[before:]
        return found

    def _tables(self) -> Iterator[Mapping[str, object]]:
        for seed in self._files.seeds:
            yield _table(self._relations[seed.name].parts, seed.columns, complete=True)
        for (source, table), columns in self._files.source_columns.items():
            parts = self._files.sources.get((source, table), (source, table))
            yield _table(parts, columns, complete=False)


def _relation(name: str, config: ModelConfig) -> RelationName:
    parts = (config.text("database"), config.text("schema"), config.text("alias") or name)
    return RelationName(tuple(part for part in parts if part))


def _table(parts: Sequence[str], columns: Sequence[Mapping[str, str]], *, complete: bool) -> Mapping[str, object]:
    names = dict(zip(("name", "schema", "catalog"), reversed(parts), strict=False))
    return {**names, "columns": list(columns), "complete": complete}
