"""scripts/mutate changes what decides something, one thing at a time, and its list of equivalent changes is true."""

import importlib.util
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest
from tests.surface.source_tree import ROOT

EXAMPLE = '''"""Text."""
LIMIT: int = 3

def f(a: int, b: bool = True) -> str:
    """Text."""
    if not b and a < LIMIT:
        raise ValueError(f"{a + 1}")
    return a + 2
'''


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    loader = SourceFileLoader("mutate", str(ROOT / "scripts" / "mutate"))
    spec = importlib.util.spec_from_loader("mutate", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "mutate", module)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def test_each_change_is_one_line_that_decides_something(mutate: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE)
    source = path.read_bytes()
    changes = [mutant.lines(source)[1] for mutant in mutate.mutants(path)]
    assert sorted(changes) == sorted(
        [
            "LIMIT: int = (4)",
            "LIMIT: int = (2)",
            "def f(a: int, b: bool = (False)) -> str:",
            "if (not b or a < LIMIT):",
            "if (b) and a < LIMIT:",
            "if not b and (a <= LIMIT):",
            "pass",
            "return (a - 2)",
            "return a + (3)",
            "return a + (1)",
        ]
    )
    for mutant in mutate.mutants(path):
        compile(mutant.apply(source), "example.py", "exec")


def test_what_is_marked_as_equivalent_is_still_in_the_source() -> None:
    entries = tomllib.loads((ROOT / "scripts" / "mutate.equivalent.toml").read_text())["equivalent"]
    for entry in entries:
        assert entry["before"] in (ROOT / entry["file"]).read_text(), entry
        assert entry["reason"]
