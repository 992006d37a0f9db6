"""The files of a dbt project: models, snapshots, seeds, macros, and the YAML that describes them."""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lakebed.errors import ConfigError
from lakebed.lineage.contract import Issue
from lakebed.lineage.dbt_words import ModelConfig
from lakebed.lineage.project_files import read_sql

_SNAPSHOT = re.compile(r"{%-?\s*snapshot\s+(\w+)\s*-?%}(.*?){%-?\s*endsnapshot\s*-?%}", re.DOTALL)
# Blocks of macro files that are no macros, and that Jinja does not know.
_OTHER_BLOCKS = re.compile(
    r"{%-?\s*(test|materialization|docs|snapshot|data_test)\b.*?{%-?\s*end(?:\1)\s*-?%}", re.DOTALL
)
_MACRO = re.compile(r"{%-?\s*macro\b")
_PATHS = {"model": "models", "seed": "seeds", "macro": "macros", "snapshot": "snapshots"}


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model or snapshot as it lies in the project; its config grows while it is rendered."""

    name: str
    path: str
    text: str
    config: ModelConfig


@dataclass(frozen=True)
class SeedFile:
    """A seed: a CSV file whose header names its columns."""

    name: str
    path: str
    columns: tuple[dict[str, str], ...]
    config: ModelConfig


@dataclass
class DbtFiles:
    """What the files of a project say."""

    name: str
    variables: dict[str, object] = field(default_factory=dict)
    models: list[ModelFile] = field(default_factory=list)
    seeds: list[SeedFile] = field(default_factory=list)
    # file -> its text
    macros: dict[str, str] = field(default_factory=dict)
    # (source, table) -> the parts of its name in the warehouse
    sources: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    source_columns: dict[tuple[str, str], list[dict[str, str]]] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)

    @staticmethod
    def target_path(folder: Path) -> str:
        """Where the project lets dbt write."""
        file = folder / "dbt_project.yml"
        settings = _read_yaml(file, []) if file.is_file() else {}
        return str(_mapping(settings).get("target-path") or "target")

    @classmethod
    def read(cls, folder: Path) -> "DbtFiles":
        """Reads a project; a file that cannot be read is an issue."""
        issues: list[Issue] = []
        file = folder / "dbt_project.yml"
        settings = _mapping(_read_yaml(file, issues))
        if issues:
            raise ConfigError(issues[0].message, remedy=issues[0].hint)
        found = cls(str(settings.get("name") or folder.resolve().name), issues=issues)
        found.variables = _variables(settings, found.name)
        properties: dict[str, ModelConfig] = {}
        for path in _files(folder, settings, ("model", "seed", "snapshot"), (".yml", ".yaml")):
            found._read_properties(_mapping(_read_yaml(path, issues)), properties)
        for kind in ("model", "snapshot"):
            for root, path in _rooted(folder, settings, kind, (".sql",)):
                text = read_sql(path, issues)
                if text is not None:
                    config = _folder_config(settings, kind, found.name, path.relative_to(root))
                    found._add_models(text, path, config, properties)
        for root, path in _rooted(folder, settings, "seed", (".csv",)):
            config = _folder_config(settings, "seed", found.name, path.relative_to(root))
            config |= properties.get(path.stem, ModelConfig()).values
            columns = tuple({"name": name} for name in _header(path, issues))
            found.seeds.append(SeedFile(path.stem, str(path), columns, ModelConfig(config)))
        for path in _files(folder, settings, ("macro",), (".sql",)):
            text = read_sql(path, issues)
            if text is not None and _MACRO.search(text):
                found.macros[str(path)] = _OTHER_BLOCKS.sub("", text)
        return found

    def _add_models(
        self, text: str, path: Path, config: dict[str, object], properties: Mapping[str, ModelConfig]
    ) -> None:
        snapshots = list(_SNAPSHOT.finditer(text))
        for match in snapshots:
            values = {"materialized": "table", **config, **properties.get(match[1], ModelConfig()).values}
            # the lines before it are kept, so that its own are those of the file
            body = "\n" * text.count("\n", 0, match.start(2)) + match[2]
            self.models.append(ModelFile(match[1], str(path), body, ModelConfig(values)))
        if not snapshots:
            values = {**config, **properties.get(path.stem, ModelConfig()).values}
            self.models.append(ModelFile(path.stem, str(path), text, ModelConfig(values)))

    def _read_properties(self, page: Mapping[str, object], properties: dict[str, ModelConfig]) -> None:
        for group in ("models", "seeds", "snapshots"):
            for entry in _entries(page.get(group)):
                properties[str(entry["name"])] = ModelConfig(dict(_mapping(entry.get("config"))))
        for source in _entries(page.get("sources")):
            name = str(source["name"])
            for table in _entries(source.get("tables")):
                key = (name, str(table["name"]))
                parts = (source.get("database"), source.get("schema") or name, table.get("identifier") or key[1])
                self.sources[key] = tuple(str(part) for part in parts if part)
                columns = [
                    {"name": str(one["name"]), **({"dataType": str(one["data_type"])} if one.get("data_type") else {})}
                    for one in _entries(table.get("columns"))
                ]
                if columns:
                    self.source_columns[key] = columns


def _read_yaml(path: Path, issues: list[Issue]) -> object:
    text = read_sql(path, issues)
    if text is None:
        return None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        place = getattr(error, "problem_mark", None)
        line = f", line {place.line + 1}" if place is not None else ""
        told = getattr(error, "problem", None) or type(error).__name__
        message = f"{path}{line} is not YAML: {told}"
        issues.append(Issue("UNREADABLE_FILE", "warning", message, "Check the file.", file=str(path)))
        return None


def _variables(settings: Mapping[str, object], project: str) -> dict[str, object]:
    """`vars:` of the project, those under its name first."""
    given = _mapping(settings.get("vars"))
    own = _mapping(given.get(project))
    return {str(name): value for name, value in {**given, **own}.items()}


def _rooted(
    folder: Path, settings: Mapping[str, object], kind: str, endings: tuple[str, ...]
) -> Iterator[tuple[Path, Path]]:
    """Files of one kind, each with the folder of the project that holds it."""
    given = settings.get(f"{kind}-paths") or [_PATHS[kind]]
    for name in given if isinstance(given, list) else [given]:
        root = folder / str(name)
        if not root.resolve().is_relative_to(folder.resolve()):
            # a project that names the whole disk is no project
            continue
        for path in sorted(root.rglob("*")) if root.is_dir() else []:
            hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
            if path.suffix.lower() in endings and not hidden and path.is_file():
                yield root, path


def _files(
    folder: Path, settings: Mapping[str, object], kinds: tuple[str, ...], endings: tuple[str, ...]
) -> Iterator[Path]:
    for kind in kinds:
        for _, path in _rooted(folder, settings, kind, endings):
            yield path


def _folder_config(settings: Mapping[str, object], kind: str, project: str, path: Path) -> dict[str, object]:
    """What dbt_project.yml says of a file: `models: project: staging: +schema: x`, the nearest folder last."""
    config: dict[str, object] = {}
    level = _mapping(settings.get(f"{kind}s"))
    for part in ("", project, *path.parts[:-1], path.stem):
        if part:
            level = _mapping(level.get(part))
        config |= {
            str(name).removeprefix("+"): value
            for name, value in level.items()
            if str(name).startswith("+") or not isinstance(value, dict)
        }
    return config


def _header(path: Path, issues: list[Issue]) -> list[str]:
    text = read_sql(path, issues)
    if not text:
        return []
    return [name.strip() for name in next(csv.reader([text.splitlines()[0]]), []) if name.strip()]


def _entries(value: object) -> Iterator[Mapping[str, object]]:
    for entry in value if isinstance(value, list) else []:
        if isinstance(entry, dict) and entry.get("name"):
            yield entry


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
