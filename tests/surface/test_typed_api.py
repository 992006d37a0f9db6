"""The public API as a user's type checker sees it, from outside the package: mypy strict, and pyright strict."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.surface.source_tree import ROOT

PROGRAMS = Path(__file__).parent / "typing_consumer"
RIGHT, WRONG = "right_calls.py", "wrong_calls.py"
# pyarrow ships no types, so what comes from it is unknown to pyright; that is not ours to mend.
PYRIGHT = {
    "typeCheckingMode": "strict",
    **dict.fromkeys(
        ("reportMissingTypeStubs", "reportUnknownMemberType", "reportUnknownVariableType", "reportUnknownArgumentType"),
        "none",
    ),
}
# What a checker says: (file, line) -> the codes of its errors there.
Findings = dict[tuple[str, int], set[str]]


def mypy(folder: Path) -> Findings:
    # Its cache is kept between runs: without it mypy reads pyspark and pandas every time.
    kept = ROOT / ".mypy_cache" / "consumer"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={kept}", "--output=json"]
    ran = subprocess.run([*command, RIGHT, WRONG], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    found: Findings = {}
    for line in ran.stdout.splitlines():
        said = json.loads(line)
        if said["severity"] == "error":
            found.setdefault((said["file"], said["line"]), set()).add(said["code"])
    return found


def pyright(folder: Path) -> Findings:
    (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", RIGHT, WRONG]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found: Findings = {}
    for said in json.loads(ran.stdout)["generalDiagnostics"]:
        if said["severity"] == "error":
            place = (Path(said["file"]).name, said["range"]["start"]["line"] + 1)
            found.setdefault(place, set()).add(said.get("rule", "syntax"))
    return found


CHECKERS: dict[str, Callable[[Path], Findings]] = {"mypy": mypy, "pyright": pyright}


@cache
def findings(checker: str) -> Findings:
    with TemporaryDirectory() as folder:
        for name in (RIGHT, WRONG):
            shutil.copy(PROGRAMS / name, folder)
        return CHECKERS[checker](Path(folder))


def expectations() -> list[tuple[int, str, dict[str, str]]]:
    """The wrong calls: their line, their text, and the code that each checker must give."""
    lines = (PROGRAMS / WRONG).read_text(encoding="utf-8").splitlines()
    matches = ((number, re.fullmatch(r"(.+?)  # (\S+), (\S+)", line)) for number, line in enumerate(lines, start=1))
    return [(number, match[1], {"mypy": match[2], "pyright": match[3]}) for number, match in matches if match]


@pytest.mark.parametrize("checker", CHECKERS)
def test_right_calls_pass(checker: str) -> None:
    assert {place: codes for place, codes in findings(checker).items() if place[0] == RIGHT} == {}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize(
    ("line", "codes"), [pytest.param(line, codes, id=text) for line, text, codes in expectations()]
)
def test_wrong_calls_are_refused(checker: str, line: int, codes: dict[str, str]) -> None:
    assert codes[checker] in findings(checker).get((WRONG, line), set())


def test_every_public_function_is_called() -> None:
    import lakebed

    functions = {name for name in lakebed.__all__ if callable(getattr(lakebed, name)) and name.islower()}
    for program in (RIGHT, WRONG):
        called = set(re.findall(r"lakebed\.([a-z]\w*)\(", (PROGRAMS / program).read_text(encoding="utf-8")))
        assert functions - called == set(), program
