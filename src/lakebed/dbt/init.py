"""`lakebed dbt init`: the package and the plugin into a dbt project, beside what is there.

The files are the user's, with comments and an order of their own: lines are added to their text, and what they mean
then is compared with what was meant. A file that cannot be changed so is left alone, and what to add is said.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lakebed.dbt.facts import DBT
from lakebed.errors import ConfigError, system_refusal

PACKAGE = Path(__file__).parent / "package"
PLUGIN = {"module": "lakebed.dbt.plugin", "alias": "lakebed", "config": {"workdir": ".lakebed"}}
_PLUGIN_LINE = "- {module: lakebed.dbt.plugin, alias: lakebed, config: {workdir: .lakebed}}"


@dataclass(frozen=True)
class Initialised:
    """What was written, line by line, and what is to be done next."""

    project: str
    wrote: tuple[str, ...]
    kept: tuple[str, ...]
    next: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        return {
            "project": self.project,
            "wrote": list(self.wrote),
            "kept": list(self.kept),
            "next": list(self.next),
        }


def init_project(
    folder: str | os.PathLike[str] = ".", *, profiles_dir: str | os.PathLike[str] | None = None
) -> Initialised:
    """Adds the package to `packages.yml` and the plugin to `profiles.yml`; what is there already is kept."""
    project = Path(folder)
    described = _read(project / "dbt_project.yml")
    if described is None:
        raise ConfigError(
            f"there is no dbt_project.yml in {project}",
            remedy="Name the folder of a dbt project: lakebed dbt init DIR.",
        )
    profile = described.get("profile")
    if not isinstance(profile, str):
        raise ConfigError(f"{project / 'dbt_project.yml'} names no profile", remedy="Add a line such as: profile: shop")
    # Both are planned before either is written.
    changes = (
        _add_package(project),
        _add_plugin(project, profile, None if profiles_dir is None else Path(profiles_dir)),
    )
    for change in changes:
        if change.text is not None:
            _write(change.file, change.text)
    install = ("pip install 'lakebed[dbt]'",) if _lacks_dbt() else ()
    return Initialised(
        str(project),
        tuple(f"{one.file}: {one.lines}" for one in changes if one.text is not None),
        tuple(f"{one.file}: as it was" for one in changes if one.text is None),
        (*install, "dbt deps", "dbt run"),
    )


@dataclass(frozen=True)
class _Change:
    """The new text of a file, and the lines of it that are new; no text where it stays as it is."""

    file: Path
    text: str | None = None
    lines: str = ""


def _lacks_dbt() -> bool:
    try:
        return bool(DBT.missing)
    except ModuleNotFoundError:  # the package above it is not there either
        return True


def _add_package(project: Path) -> _Change:
    file = project / "packages.yml"
    beside = PACKAGE.resolve()
    inside = beside.is_relative_to(project.resolve())
    place = str(beside.relative_to(project.resolve())) if inside else str(beside)
    line = f"- local: {yaml.safe_dump(place, default_flow_style=True, width=10_000).splitlines()[0]}"
    dependencies = project / "dependencies.yml"
    if not file.exists() and (_read(dependencies) or {}).get("packages"):
        file = dependencies
    current = _read(file)
    listed = [] if current is None else current.get("packages") or []
    ours = [
        one for one in listed if isinstance(one, dict) and str(one.get("local", "")).endswith("lakebed/dbt/package")
    ]
    if {"local": place} in ours:
        return _Change(file)
    if current is None:
        return _Change(file, f"packages:\n  {line}\n", line)
    text = file.read_text(encoding="utf-8")
    if ours:
        changed = text.replace(str(ours[0]["local"]), place)
        wanted = [{"local": place} if one == ours[0] else one for one in listed]
    else:
        changed = _with_item(text, "packages", line)
        wanted = [*listed, {"local": place}]
    _check(file, changed, lambda found: sorted(map(str, found["packages"])) == sorted(map(str, wanted)), line)
    return _Change(file, changed, line)


def _add_plugin(project: Path, profile: str, profiles_dir: Path | None) -> _Change:
    file = (profiles_dir or project) / "profiles.yml"
    current = _read(file)
    if current is None:
        if elsewhere := _profile_elsewhere(profile):
            raise ConfigError(
                f"the profile {profile} is in {elsewhere}, and not beside dbt_project.yml",
                remedy=f"lakebed dbt init {project} --profiles-dir {elsewhere.parent}",
            )
        text = (
            f"{profile}:\n  target: dev\n  outputs:\n    dev:\n      type: duckdb\n      path: dev.duckdb\n"
            f"      plugins:\n        {_PLUGIN_LINE}\n"
        )
        return _Change(file, text, f"the profile {profile}, with a database dev.duckdb and the plugin")
    outputs = ((current.get(profile) or {}).get("outputs") or {}) if isinstance(current.get(profile), dict) else {}
    of_duckdb = {name: one for name, one in outputs.items() if isinstance(one, dict) and one.get("type") == "duckdb"}
    if not of_duckdb:
        raise ConfigError(
            f"{file} has no output of the type duckdb in the profile {profile}",
            remedy="Lakebed's models run on dbt-duckdb: add such an output, and run this again.",
        )
    lacking = [name for name, one in of_duckdb.items() if not _has_plugin(one)]
    if not lacking:
        return _Change(file)
    text = file.read_text(encoding="utf-8")
    for name in lacking:
        text = _with_plugin(text, profile, name, has_plugins=bool(of_duckdb[name].get("plugins")))

    def is_meant(found: Mapping[str, Any]) -> bool:
        meant = yaml.safe_load(file.read_text(encoding="utf-8"))
        for name in lacking:
            output = meant[profile]["outputs"][name]
            output["plugins"] = [*(output.get("plugins") or []), PLUGIN]
            found_output = found[profile]["outputs"][name]
            found_output["plugins"] = sorted(found_output["plugins"], key=str)
            output["plugins"] = sorted(output["plugins"], key=str)
        return bool(found == meant)

    _check(file, text, is_meant, f"plugins:\n  {_PLUGIN_LINE}")
    return _Change(file, text, f"plugins: {_PLUGIN_LINE} (outputs {', '.join(lacking)} of {profile})")


def _has_plugin(output: Mapping[str, Any]) -> bool:
    return any(isinstance(one, dict) and one.get("module") == PLUGIN["module"] for one in output.get("plugins") or ())


def _profile_elsewhere(profile: str) -> Path | None:
    """Where dbt would find the profile, but for the project's folder."""
    for folder in (os.environ.get("DBT_PROFILES_DIR"), Path.home() / ".dbt"):
        if folder is not None and profile in (_read(Path(folder) / "profiles.yml") or {}):
            return Path(folder) / "profiles.yml"
    return None


def _with_item(text: str, key: str, item: str) -> str:
    """The text with one more item directly below a key of the top level."""
    return _below(text.splitlines(), 0, key, item)


def _with_plugin(text: str, profile: str, output: str, *, has_plugins: bool) -> str:
    lines = text.splitlines()
    place = 0
    for key in (profile, "outputs", output):
        place = _line_of(lines, place, key) + 1
    if has_plugins:
        return _below(lines, place, "plugins", _PLUGIN_LINE)
    filled = (number for number in range(place, len(lines)) if lines[number].strip() and not _is_comment(lines[number]))
    first = next(filled, len(lines) - 1)
    indent = _indent(lines[first])
    lines[first:first] = [f"{indent}plugins:", f"{indent}  {_PLUGIN_LINE}"]
    return "\n".join(lines) + "\n"


def _below(lines: list[str], start: int, key: str, item: str) -> str:
    place = _line_of(lines, start, key)
    items = (line for line in lines[place + 1 :] if line.strip() and not _is_comment(line))
    first = next(items, "")
    indent = _indent(first) if first.lstrip().startswith("- ") else _indent(lines[place]) + "  "
    lines.insert(place + 1, f"{indent}{item}")
    return "\n".join(lines) + "\n"


def _line_of(lines: list[str], start: int, key: str) -> int:
    pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*:\s*(#.*)?$""")
    for number in range(start, len(lines)):
        if pattern.match(lines[number]):
            return number
    return len(lines) - 1  # where the comparison will find that it is not what is meant


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _read(file: Path) -> dict[str, Any] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise system_refusal(error, str(file)) from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        raise ConfigError(f"{file} is not YAML: {wrong}", remedy="Correct it, and run this again.") from wrong
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigError(f"{file} is a list or a text, not a mapping", remedy="Correct it, and run this again.")
    return found


def _check(file: Path, text: str, is_meant: Callable[[Mapping[str, Any]], bool], lines: str) -> None:
    try:
        done = is_meant(yaml.safe_load(text))
    except (yaml.YAMLError, KeyError, TypeError):
        done = False
    if not done:
        raise ConfigError(
            f"{file} is written in a way that nothing can be added to without changing it", remedy=f"Add:\n{lines}"
        )


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise system_refusal(error, str(file)) from error
