"""Scripts from Jinja templates with variables, and from the compiled models of a dbt manifest.

A dbt manifest of `dbt compile` holds every model's SQL with its references resolved; models are wrapped into the CREATE
statement that dbt would run and put into the order of their dependencies, so that one model's columns are the next
one's schema.
"""

import json
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import jinja2

from lakebed.errors import ConfigError, LineageError
from lakebed.lineage.analyze import Script
from lakebed.lineage.template_limits import LimitedEnvironment, TemplateTooLarge


def looks_like_template(sql: str) -> bool:
    """Whether a text has Jinja in it."""
    return "{{" in sql or "{%" in sql


def render(sql: str, variables: Mapping[str, object], *, file: str = "script") -> str:
    """A plain Jinja template with variables; dbt's `var`, `ref`, `source`, `this` and `config` have simple meanings.

    The sandbox lets a template compute text and nothing else, and no more of it than SQL needs.
    """
    environment = LimitedEnvironment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, loader=jinja2.FunctionLoader(lambda name: None)
    )
    environment.globals |= {
        "var": _variable(variables),
        "ref": lambda *parts, **_: str(parts[-1]) if parts else "",
        "source": lambda *parts, **_: ".".join(str(part) for part in parts),
        "config": lambda *_, **__: "",
        "is_incremental": lambda: False,
        "env_var": lambda name, default="": default,
        "this": Path(file).stem,
        "target": {"name": "default", "schema": "", "type": ""},
    }
    try:
        return environment.from_string(sql).render(**variables)
    except jinja2.TemplateSyntaxError as error:
        raise LineageError(f"{file}, line {error.lineno}: {error.message}", remedy="Check the template.") from error
    except jinja2.UndefinedError as error:
        raise LineageError(f"{file}: {error.message}", remedy="Give the variable: --var name=value.") from error
    except jinja2.TemplateNotFound as error:
        raise LineageError(
            f"{file}: the template asks for {error.name}, and other files are not read",
            remedy="Put its text in the place of include, import or extends.",
        ) from error
    except TemplateTooLarge as error:
        raise LineageError(
            f"{file}: the template cannot be rendered: {error}", remedy="Check its loops, and what it multiplies."
        ) from error
    except Exception as error:
        # a template computes: division by zero, names that are missing, macros that call themselves
        what = str(error) or type(error).__name__
        raise LineageError(f"{file}: the template cannot be rendered: {what}", remedy="Check the template.") from error


def _variable(variables: Mapping[str, object]) -> object:
    def var(name: str, default: object = None) -> object:
        if name in variables:
            return variables[name]
        if default is None:
            raise jinja2.UndefinedError(f"the variable {name!r} is not given")
        return default

    return var


def dbt_scripts(manifest_path: Path) -> Iterator[Script]:
    """The models of a manifest as CREATE statements, each after the models that it reads."""
    try:
        manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise ConfigError(
            f"{manifest_path} is not a dbt manifest: {error}", remedy="Run dbt compile, and give target/manifest.json."
        ) from error
    nodes: dict[str, dict[str, object]] = {
        name: node
        for name, node in (manifest.get("nodes") or {}).items()
        if node.get("resource_type") in ("model", "snapshot")
    }
    order = {name: [d for d in _depends(node) if d in nodes] for name, node in nodes.items()}
    try:
        ordered = list(TopologicalSorter(order).static_order())
    except CycleError as error:
        raise LineageError(f"the models depend on each other in a cycle: {error.args[1]}") from error
    for name in ordered:
        yield _script(name, nodes[name])


def _depends(node: Mapping[str, object]) -> list[str]:
    depends = node.get("depends_on")
    names = depends.get("nodes") if isinstance(depends, dict) else None
    return [str(name) for name in names or []]


def _script(name: str, node: Mapping[str, object]) -> Script:
    file = str(node.get("original_file_path") or name)
    compiled = node.get("compiled_code") or node.get("compiled_sql")
    if not compiled:
        raise LineageError(
            f"{file} is not compiled in this manifest", remedy="Run dbt compile, and give target/manifest.json."
        )
    config = node.get("config")
    materialized = str(config.get("materialized") if isinstance(config, dict) else "view")
    kind = "VIEW" if materialized in ("view", "ephemeral") else "TABLE"
    relation = node.get("relation_name") or ".".join(
        str(part) for part in (node.get("database"), node.get("schema"), node.get("alias") or node.get("name")) if part
    )
    return Script(f"CREATE {kind} {relation} AS\n{str(compiled).strip().rstrip(';')}", file)
