"""SQL from Jinja templates: variables, and words that a template may call.

dbt's words have simple meanings here; `dbt_words.py` gives them those of a project.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import jinja2
from jinja2.runtime import Macro

from lakebed.errors import LineageError
from lakebed.lineage.template_limits import LimitedEnvironment, TemplateTooLarge


def looks_like_template(sql: str) -> bool:
    """Whether a text has Jinja in it."""
    return "{{" in sql or "{%" in sql or "{#" in sql


def make_environment(
    variables: Mapping[str, object],
    *,
    file: str = "script",
    words: Mapping[str, object] | None = None,
    undefined: type[jinja2.Undefined] = jinja2.StrictUndefined,
) -> LimitedEnvironment:
    """Where templates are rendered: a template computes text and nothing else, and no more of it than SQL needs."""
    environment = LimitedEnvironment(
        undefined=undefined,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.do"],
        loader=jinja2.FunctionLoader(lambda name: None),
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
        **(words or {}),
    }
    return environment


def render(
    sql: str, variables: Mapping[str, object], *, file: str = "script", environment: LimitedEnvironment | None = None
) -> str:
    """A Jinja template with variables; dbt's `var`, `ref`, `source`, `this` and `config` have simple meanings."""
    environment = environment or make_environment(variables, file=file)
    environment.renew()
    with _told_errors(file):
        return environment.from_string(sql).render(**variables)


def read_macros(text: str, environment: LimitedEnvironment, *, file: str) -> dict[str, Callable[..., object]]:
    """The macros that a file defines, by their names."""
    environment.renew()
    with _told_errors(file):
        module = environment.from_string(text).module
    return {name: macro for name, macro in vars(module).items() if isinstance(macro, Macro)}


@contextmanager
def _told_errors(file: str) -> Iterator[None]:
    """What a template does wrong, told with its file and a remedy."""
    try:
        yield
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
