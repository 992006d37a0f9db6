"""SQL from Jinja templates: variables, and words that a template may call.

dbt's words have simple meanings here; `dbt_words.py` gives them those of a project.
"""

from collections.abc import Mapping
from pathlib import Path

import jinja2
from jinja2.sandbox import SandboxedEnvironment

from lakebed.errors import LineageError


def looks_like_template(sql: str) -> bool:
    """Whether a text has Jinja in it."""
    return "{{" in sql or "{%" in sql or "{#" in sql


def make_environment(
    variables: Mapping[str, object],
    *,
    file: str = "script",
    words: Mapping[str, object] | None = None,
    undefined: type[jinja2.Undefined] = jinja2.StrictUndefined,
) -> SandboxedEnvironment:
    """Where templates are rendered: the sandbox lets a template compute text and nothing else."""
    environment = SandboxedEnvironment(undefined=undefined, keep_trailing_newline=True, extensions=["jinja2.ext.do"])
    environment.globals |= {
        "var": _variable(variables),
        "ref": lambda *parts, **_: str(parts[-1]) if parts else "",
        "source": lambda *parts, **_: ".".join(str(part) for part in parts),
        "config": lambda *_, **__: "",
        "is_incremental": lambda: False,
        "env_var": lambda name, default="": default,
        "this": Path(file).stem,
        "target": {"name": "default", "schema": "", "type": ""},
        **(words or {}),
    }
    return environment


def render(
    sql: str, variables: Mapping[str, object], *, file: str = "script", environment: SandboxedEnvironment | None = None
) -> str:
    """A Jinja template with variables; dbt's `var`, `ref`, `source`, `this` and `config` have simple meanings."""
    environment = environment or make_environment(variables, file=file)
    try:
        return environment.from_string(sql).render(**variables)
    except jinja2.TemplateSyntaxError as error:
        raise LineageError(f"{file}, line {error.lineno}: {error.message}", remedy="Check the template.") from error
    except jinja2.UndefinedError as error:
        raise LineageError(f"{file}: {error.message}", remedy="Give the variable: --var name=value.") from error
    except jinja2.TemplateError as error:
        raise LineageError(f"{file}: the template cannot be rendered: {error}", remedy="Check the template.") from error


def _variable(variables: Mapping[str, object]) -> object:
    def var(name: str, default: object = None) -> object:
        if name in variables:
            return variables[name]
        if default is None:
            raise jinja2.UndefinedError(f"the variable {name!r} is not given")
        return default

    return var
