"""The reference page of the Python API, from the signatures and docstrings of the public names."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lakebed
from lakebed.errors import LakebedError

_INTRODUCTION = """\
Commands have functions of the same name; that of `lineage` is `analyze`. What a function returns has `to_dict()`, which
is what `--json` prints. The names have types: mypy and pyright check calls, and editors complete them."""
_WIDTH = 100


def python_page(note: str) -> str:
    """Every public name: how it is called or what it holds, what it promises, and an example."""
    sections: dict[str, list[str]] = {"Functions": [], "Values": [], "Types of parameters": [], "Errors": []}
    for name in sorted(lakebed.PUBLIC, key=str.lower):
        title, lines = _describe(name)
        sections[title].append("\n\n".join([f"### lakebed.{name}", *lines]))
    parts = [note, "# Python", _INTRODUCTION]
    for title, entries in sections.items():
        parts += [f"## {title}", *entries]
    return "\n\n".join(parts) + "\n"


def _describe(name: str) -> tuple[str, list[str]]:
    value, node = getattr(lakebed, name), _definition(name)
    if isinstance(node, ast.FunctionDef):
        return "Functions", [_code(_signature(node)), *_text(inspect.getdoc(value) or "")]
    if isinstance(node, ast.ClassDef):
        shown = _members(node)
        section = "Errors" if issubclass(value, LakebedError) else "Values"
        return section, [*_text(inspect.getdoc(value) or ""), *(["\n".join(shown)] if shown else [])]
    return "Types of parameters", [_code(f"{name} = {_type(node.value)}"), _doc_below(name)]


def _definition(name: str) -> ast.FunctionDef | ast.ClassDef | ast.AnnAssign:
    """Where a public name is defined; of overloads the last, which is the one with the docstring."""
    value = getattr(lakebed, name)
    module = getattr(value, "__module__", "")
    found = [
        node for node in _body(module if module.startswith("lakebed.") else lakebed.PUBLIC[name]) if _names(node, name)
    ]
    node = found[-1] if found else None
    if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AnnAssign):
        raise LakebedError(f"lakebed.{name} is neither a function nor a class nor a type")
    return node


@cache
def _body(module: str) -> list[ast.stmt]:
    return ast.parse(Path(inspect.getfile(sys.modules[module])).read_text(encoding="utf-8")).body


def _names(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name


def _doc_below(name: str) -> str:
    """The text below a type's definition, where editors look for it too."""
    body = _body(lakebed.PUBLIC[name])
    place = next(number for number, node in enumerate(body) if _names(node, name))
    match body[place + 1]:
        case ast.Expr(ast.Constant(str(text))):
            return inspect.cleandoc(text)
    raise LakebedError(f"lakebed.{name} does not say what it is")


def _signature(node: ast.FunctionDef) -> str:
    """The function as it is called: on one line where it fits, else a line for each parameter."""
    parameters = list(_parameters(node.args))
    returns = f" -> {_type(node.returns)}" if node.returns else ""
    line = f"{node.name}({', '.join(parameters)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return f"{node.name}(\n" + "".join(f"    {one},\n" for one in parameters) + f"){returns}"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    without = len(arguments.args) - len(arguments.defaults)
    for number, one in enumerate(arguments.args):
        if one.arg not in ("self", "cls"):
            yield _parameter(one, arguments.defaults[number - without] if number >= without else None)
    if arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(one, default)
    if arguments.kwarg:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    typed = f"{one.arg}: {_type(one.annotation)}" if one.annotation else one.arg
    return typed if default is None else f"{typed} = {_source(default)}"


def _type(annotation: ast.expr | None) -> str:
    """An annotation as text, without the quotes that postpone it."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return _source(annotation)


def _source(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", '"')


def _members(node: ast.ClassDef) -> list[str]:
    """The fields, properties and methods of a class, in its own order."""
    shown = []
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            if not member.target.id.startswith("_"):
                shown.append(f"- `{member.target.id}: {_type(member.annotation)}`")
        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            called = "" if _is_property(member) else f"({', '.join(_parameters(member.args))})"
            returns = f" -> {_type(member.returns)}" if called else f": {_type(member.returns)}"
            said = " ".join((ast.get_docstring(member) or "").split("\n\n")[0].split())
            shown.append(f"- `{member.name}{called}{returns}`{'  ' if said else ''}{said}")
    return shown


def _is_property(member: ast.FunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in member.decorator_list)


def _text(doc: str) -> Iterator[str]:
    """A docstring as Markdown: its examples and drawings become code."""
    for block in re.split(r"\n\n+", doc):
        if block.startswith(">>> ") or block.startswith("    "):
            yield _code(textwrap.dedent(block))
        else:
            yield block


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
