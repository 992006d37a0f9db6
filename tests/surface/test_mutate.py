"""scripts/mutate changes what decides something, asks the tests that reach it, and its list of equivalents is true."""

import tomllib
from pathlib import Path

import pytest
from scripts.mutation.bench import shares
from scripts.mutation.changes import Mutant, mutants
from scripts.mutation.reach import AT_IMPORT, Reach
from tests.surface.source_tree import ROOT

EXAMPLE = '''"""Text."""
LIMIT: int = 3

def f(a: int, b: bool = True) -> str:
    """Text."""
    if not b and a < LIMIT:
        raise ValueError(f"{a + 1}")
    return a + 2
'''


def test_each_change_is_one_line_that_decides_something(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(EXAMPLE)
    source = path.read_bytes()
    changes = [mutant.lines(source)[1] for mutant in mutants(path, tmp_path)]
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
    for mutant in mutants(path, tmp_path):
        compile(mutant.apply(source), "example.py", "exec")


def test_a_change_inside_a_long_statement_is_reached_where_the_statement_begins(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text("def f(a):\n    return g(\n        a,\n        1,\n    )\n")
    assert {mutant.reached_by for mutant in mutants(path, tmp_path)} == {frozenset({2, 4})}


REACH = Reach(
    seconds={
        "tests/test_far.py::fast": 0.1,
        "tests/test_far.py::slow": 9.0,
        "tests/test_far.py::other": 0.2,
        "tests/test_merge.py::own": 3.0,
        "tests/test_none.py::other": 0.1,
        "tests/test_shared.py::one": 0.3,
        "tests/test_shared.py::two": 70.0,
    },
    lines={
        "src/merge.py": {
            "1": [AT_IMPORT],
            "5": ["tests/test_far.py::slow", "tests/test_far.py::fast", "tests/test_merge.py::own"],
            "6": ["tests/test_shared.py"],
        }
    },
)


def change(line: int) -> Mutant:
    return Mutant(Path("src/merge.py"), line, 0, 1, "", frozenset({line}))


@pytest.mark.parametrize(
    ("line", "tests"),
    [
        pytest.param(
            5,
            [
                "tests/test_merge.py::own",
                "tests/test_far.py::fast",
                "tests/test_far.py::slow",
                "tests/test_far.py::other",
            ],
            id="its namesake's, then the quick ones, then others of the same modules",
        ),
        pytest.param(6, ["tests/test_shared.py::one"], id="all that share a fixture, up to a limit of seconds"),
        pytest.param(
            1,
            [
                "tests/test_merge.py::own",
                "tests/test_far.py::fast",
                "tests/test_shared.py::one",
                "tests/test_far.py::slow",
            ],
            id="a line that runs at import: all that reach the file",
        ),
        pytest.param(7, [], id="nobody"),
    ],
)
def test_a_change_is_shown_to_the_tests_that_reach_it(line: int, tests: list[str]) -> None:
    assert REACH.tests_for(change(line)) == tests


def test_the_first_run_is_short() -> None:
    seconds = {"a": 3.0, "b": 0.5, "c": 0.5, "d": 1.5}
    assert shares(["b", "c", "d", "a"], seconds) == [["b", "c"], ["d", "a"]]
    assert shares(["a", "b"], seconds) == [["a"], ["b"]]
    assert shares([], seconds) == []


def test_a_changed_file_makes_all_that_reach_it_be_recorded_again() -> None:
    reach = Reach(
        digests={"src/a.py": "1", "tests/test_a.py": "1", "tests/test_b.py": "1"},
        seconds={"tests/test_a.py::one": 1.0, "tests/test_b.py::two": 1.0},
        lines={"src/a.py": {"1": [AT_IMPORT], "2": ["tests/test_a.py::one"]}, "src/b.py": {"1": [AT_IMPORT]}},
    )
    reach.forget_changed({"src/a.py": "2", "tests/test_a.py": "1", "tests/test_b.py": "1"})
    assert reach.digests == {"src/a.py": "2", "tests/test_b.py": "1"}
    assert reach.seconds == {"tests/test_b.py::two": 1.0}
    assert reach.lines == {"src/a.py": {"1": [], "2": []}, "src/b.py": {"1": [AT_IMPORT]}}


def test_what_is_marked_as_equivalent_is_still_in_the_source() -> None:
    entries = tomllib.loads((ROOT / "scripts" / "mutate.equivalent.toml").read_text())["equivalent"]
    for entry in entries:
        assert entry["before"] in (ROOT / entry["file"]).read_text(), entry
        assert entry["reason"]
