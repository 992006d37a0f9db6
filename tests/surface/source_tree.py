"""The source tree as its tests see it: modules, and what each imports."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "lakebed"


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    typing_only: bool


@dataclass(frozen=True)
class Module:
    name: str  # below lakebed: "engines.spark.session"
    path: Path
    tree: ast.Module

    @property
    def imports(self) -> tuple[Import, ...]:
        return tuple(_imports(self.tree, typing_only=False))

    def place(self, line: int) -> str:
        return f"{self.path.relative_to(ROOT)}:{line}"


@cache
def modules() -> tuple[Module, ...]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name, path, ast.parse(path.read_text(encoding="utf-8"))))
    return tuple(found)


def _imports(node: ast.AST, *, typing_only: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        guarded = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, guarded)
        elif isinstance(child, ast.ImportFrom) and child.module:
            for alias in child.names:
                # `from lakebed.engines import registry` imports a module; the longer name finds its layer as well.
                yield Import(f"{child.module}.{alias.name}", child.lineno, guarded)
        else:
            yield from _imports(child, typing_only=guarded)
