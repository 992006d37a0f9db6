"""Which tests reach which line, as coverage saw it."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData
from scripts.mutation.changes import Mutant

# What hours of tests reach is shown to the first of them; unnoticed by these counts as unnoticed. Seconds are of CPU,
# as the tests took them when they were recorded.
MOST_SECONDS = 40.0
AT_IMPORT = ""  # the context of lines that run when their module is imported


class Watch:
    """A pytest plugin: tells coverage which test runs, and keeps what each cost and how it ended."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage
        self._test = AT_IMPORT
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._test = item.nodeid
        self._coverage.switch_context(item.nodeid)
        before = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = sum(os.times()[:4]) - before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> Iterator[None]:
        """What a fixture of several tests does is reached by all tests of the module: its context is the module's."""
        if fixturedef.scope == "function":
            return (yield)
        self._coverage.switch_context(module_of(self._test))
        try:
            return (yield)
        finally:
            self._coverage.switch_context(self._test)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.failed.add(report.nodeid)
            if report.outcome == "failed":
                print(f"left out, as it fails without any change: {report.nodeid}", file=sys.__stderr__, flush=True)


@dataclass
class Reach:
    """Which tests reach which lines, and what each costs."""

    digests: dict[str, str] = field(default_factory=dict)  # of every file when it was recorded
    seconds: dict[str, float] = field(default_factory=dict)  # by test
    lines: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # by file, then by line: contexts

    @classmethod
    def load(cls, path: Path) -> "Reach":
        return cls(**json.loads(path.read_text())) if path.exists() else cls()

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self)))

    def forget_changed(self, digests: dict[str, str]) -> None:
        """Forgets test modules that are new or changed, or that reach a file that has changed."""
        changed = {path for path in digests if digests[path] != self.digests.get(path)}
        reaching = {
            module_of(context)
            for path in changed
            for contexts in self.lines.get(path, {}).values()
            for context in contexts
            if context != AT_IMPORT
        }
        gone = changed | reaching
        for path, by_line in self.lines.items():
            for line, contexts in by_line.items():
                kept = (c for c in contexts if module_of(c) not in gone and (c != AT_IMPORT or path not in changed))
                by_line[line] = list(kept)
        self.seconds = {test: spent for test, spent in self.seconds.items() if module_of(test) not in gone}
        self.digests = {path: digest for path, digest in digests.items() if path not in gone or not is_module(path)}

    def add(self, watch: Watch, data: CoverageData, root: Path) -> None:
        """Adds what some test modules were seen to reach. A test that does not pass without any change is left out."""
        passed = {test: spent for test, spent in watch.seconds.items() if test not in watch.failed}
        self.seconds |= passed
        known = {AT_IMPORT, *passed, *map(module_of, passed)}
        for file in data.measured_files():
            by_line = self.lines.setdefault(str(Path(file).relative_to(root)), {})
            for line, contexts in data.contexts_by_lineno(file).items():
                by_line[str(line)] = sorted({*by_line.get(str(line), ()), *(known & set(contexts))})

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that reach a change: those of the module's namesake first, then by what they cost.

        A line that runs at import is reached by whatever reaches its file. After those that reach a line come the
        others of their modules: the first of them may have filled a cache for all.
        """
        by_line = self.lines.get(str(mutant.path), {})
        contexts = {context for line in mutant.reached_by for context in by_line.get(str(line), ())}
        if AT_IMPORT in contexts:
            contexts = {context for found in by_line.values() for context in found}
        reaching = {test for test in self.seconds if test in contexts or module_of(test) in contexts}
        near = {module_of(test) for test in reaching}
        namesake = f"test_{mutant.path.stem}.py"
        order = sorted(
            (test for test in self.seconds if module_of(test) in near),
            key=lambda test: (test not in reaching, Path(module_of(test)).name != namesake, self.seconds[test], test),
        )
        spent = list(accumulate(self.seconds[test] for test in order))
        return [test for test, until in zip(order, spent, strict=True) if until <= MOST_SECONDS]


def module_of(context: str) -> str:
    """The test module of a context: of a test, or of what a fixture does for all of them."""
    return context.partition("::")[0]


def is_module(path: str) -> bool:
    return path.startswith("tests/") and Path(path).name.startswith("test_")
