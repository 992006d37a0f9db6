"""What lies in the repository: no file too long, no address of a registry, no path of one machine."""

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from tests.surface.source_tree import ROOT, modules

LONGEST = 500
# A table of cases reads better whole than cut in two.
LONGER_WITH_REASON = ("src/lakebed/testing/merge_scenarios.py",)
# Places where packages come from are the user's business, and so are the folders of a file's author.
FORBIDDEN = {
    "a registry": re.compile(
        r"files\.pythonhosted\.org|registry\.(npmjs|yarnpkg)\.\w+|--(extra-)?index-url|/simple/?['\"\s]|artifactory|nexus\.",
        re.IGNORECASE,
    ),
    "a path of one machine": re.compile(
        r"(?<![\w.])(/root/|/home/(?!user\b|me\b)\w+/|/Users/\w+/|/work/(main|base)\b)"
    ),
}
UNCHECKED = ("tests/surface/test_repository.py",)
BINARY = (".png", ".ico", ".woff", ".woff2", ".gz", ".zip", ".parquet", ".jar", ".db", ".duckdb")


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    return tuple(ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file())


def test_no_source_file_is_too_long() -> None:
    lengths = {str(module.path.relative_to(ROOT)): len(module.path.read_text().splitlines()) for module in modules()}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST and path not in LONGER_WITH_REASON} == {}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what: str) -> None:
    found = []
    for path in tracked():
        name = str(path.relative_to(ROOT))
        if name in UNCHECKED or path.suffix in BINARY:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if match := FORBIDDEN[what].search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert found == []


def test_no_file_is_a_leftover() -> None:
    leftovers = re.compile(r"(^|/)(utils|helpers|common|misc)\.py$|_v2\.|\.(orig|rej|bak)$|(^|/)(TODO|NOTES)\b")
    assert [str(path.relative_to(ROOT)) for path in tracked() if leftovers.search(str(path.relative_to(ROOT)))] == []


def test_no_merge_was_left_half_done() -> None:
    marker = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    texts = (path for path in tracked() if path.suffix in (".py", ".md", ".toml", ".ts", ".tsx", ".txt", ".sql", ""))
    assert [str(path) for path in texts if marker.search(path.read_text(encoding="utf-8", errors="replace"))] == []
