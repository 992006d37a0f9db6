"""A copy of the tree in which one file at a time is changed, and the tests run."""

import contextlib
import filecmp
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from coverage import Coverage
from scripts.mutation.changes import Mutant
from scripts.mutation.reach import Reach, Watch, is_module

MARKERS = {
    "fast": "not full and not spark and not server and not browser and not processes",
    "slow": "(spark or server or processes) and not full and not browser",
}
# A change is first shown to the nearest tests, then to all that reach it: most are noticed by the first few, and
# collecting the others costs seconds.
FIRST_SECONDS, FIRST_TESTS = 2.0, 60
AT_ONCE = 6  # test modules that are recorded together; an interrupted recording goes on after the last of these
PASSED, UNKNOWN_TESTS, NO_TESTS = 0, 4, 5  # pytest's exit codes


class Bench:
    """A copy of the tree in which one file at a time is changed, and the tests run. It stays, with its bytecode."""

    def __init__(self, root: Path, folder: Path, groups: list[str], places: set[str]) -> None:
        self._root = root
        self._tree = folder / "tree"
        self._folder = folder
        self._clock = int(time.time())
        sys.pycache_prefix = str(folder / "pycache")
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        names = self._copy()
        digests = {
            name: hashlib.sha256((root / name).read_bytes()).hexdigest()
            for name in names
            if name.endswith(".py") and name.startswith(("src/", "tests/"))
        }
        self.reach = {group: self._recorded(group, digests, places) for group in groups}

    def check_unchanged(self, mutant: Mutant) -> None:
        """The tests that reach a place pass as long as it is not changed: else everything would seem to be noticed."""
        for reach in self.reach.values():
            tests = reach.tests_for(mutant)[:FIRST_TESTS]
            if tests and not self._pass(tests, sum(reach.seconds[test] for test in tests)):
                sys.exit(f"the tests of {mutant.path} fail without any change: mend that first")

    def tests_for(self, mutant: Mutant) -> list[list[str]]:
        """The tests that reach a change, by group."""
        return [reach.tests_for(mutant) for reach in self.reach.values()]

    def survives(self, mutant: Mutant) -> tuple[bool, int]:
        """Whether no test notices, and how many were asked."""
        source = (self._root / mutant.path).read_bytes()
        asked = 0
        self._write(mutant.path, mutant.apply(source))
        try:
            for reach in self.reach.values():
                for tests in shares(reach.tests_for(mutant), reach.seconds):
                    asked += len(tests)
                    if not self._pass(tests, sum(reach.seconds[test] for test in tests)):
                        return False, asked
            return True, asked
        finally:
            self._write(mutant.path, source)

    def _copy(self) -> list[str]:
        """Brings the copy up to date. Files that are equal keep their times, and so their bytecode."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=self._root, stdout=subprocess.PIPE, text=True, check=True).stdout
        names = {name for name in listed.split("\0") if name and (self._root / name).is_file()}
        for path in self._tree.rglob("*"):
            if path.is_file() and str(path.relative_to(self._tree)) not in names:
                path.unlink()
        for name in names:
            ours = self._tree / name
            if not ours.is_file() or not filecmp.cmp(self._root / name, ours, shallow=False):
                ours.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._root / name, ours)
        return sorted(names)

    def _write(self, path: Path, data: bytes) -> None:
        """Each version of a file has a time of its own, so that no bytecode of another one is taken for it."""
        (self._tree / path).write_bytes(data)
        self._clock += 2
        os.utime(self._tree / path, (self._clock, self._clock))

    def _recorded(self, group: str, digests: dict[str, str], places: set[str]) -> Reach:
        """Which test of these places reaches which line, with the modules recorded again that may have changed."""
        saved = self._folder / f"reach-{group}.json"
        reach = Reach.load(saved)
        reach.forget_changed(digests)
        modules = [
            path
            for path in digests
            if is_module(path) and path not in reach.digests and places & {path, *map(str, Path(path).parents)}
        ]
        for start in range(0, len(modules), AT_ONCE):
            print(f"recording what {group} tests reach: {start} of {len(modules)} modules done", flush=True)
            part = modules[start : start + AT_ONCE]
            child = os.fork()
            if child == 0:
                reach.digests |= {path: digests[path] for path in part}
                self._record(reach, part, group, saved)
            if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                sys.exit(f"the recording ended with {code}: {saved.with_suffix('.log')}")
            reach = Reach.load(saved)
        return reach

    def _record(self, reach: Reach, modules: list[str], group: str, saved: Path) -> None:
        code = 1
        try:
            self._enter(saved.with_suffix(".log"))
            coverage = Coverage(data_file=None, source=[str(self._tree / "src/lakebed")], messages=False)
            watch = Watch(coverage)
            coverage.start()
            self._pytest(["-m", MARKERS[group], *modules], [watch])
            coverage.stop()
            reach.add(watch, coverage.get_data(), self._tree)
            reach.save(saved)
            code = 0
        except Exception:  # noqa: BLE001 -- a fork: whatever it is, the parent reads it in the log
            traceback.print_exc()
        finally:
            os._exit(code)

    def _pass(self, tests: list[str], expected_seconds: float) -> bool:
        """Whether the tests pass. What takes far longer than without a change is ended, and has not passed."""
        code = self._run(tests, int(3 * expected_seconds) + 20)
        if code == UNKNOWN_TESTS:
            # The change is one of what tests are called: all of their modules are asked.
            code = self._run(sorted({test.partition("::")[0] for test in tests}), int(9 * expected_seconds) + 120)
        return code in (PASSED, NO_TESTS)

    def _run(self, tests: list[str], cpu_seconds: int) -> int:
        child = os.fork()
        if child == 0:
            self._run_tests(tests, cpu_seconds)
        with contextlib.suppress(KeyboardInterrupt):
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.kill(child, signal.SIGKILL)
        sys.exit("interrupted")

    def _run_tests(self, tests: list[str], cpu_seconds: int) -> None:
        code = 1
        try:
            self._enter(Path(os.devnull))
            os.dup2(1, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
            # What waits for itself uses no CPU.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20 * cpu_seconds + 60)
            code = self._pytest(["-x", "-m", " or ".join(f"({MARKERS[group]})" for group in self.reach), *tests], [])
        finally:
            os._exit(code)

    def _enter(self, log: Path) -> None:
        os.chdir(self._tree)
        sys.path.insert(0, str(self._tree / "src"))
        os.environ["PYTHONPATH"] = str(self._tree / "src")
        os.dup2(os.open(log, os.O_RDWR | os.O_CREAT | os.O_TRUNC), 1)

    def _pytest(self, arguments: list[str], plugins: list[object]) -> int:
        return int(pytest.main(["-q", "--hypothesis-seed=0", "-p", "no:faulthandler", *arguments], plugins))


def shares(tests: list[str], seconds: dict[str, float]) -> list[list[str]]:
    """The tests in two runs, the first of them short."""
    spent, first = 0.0, 0
    while first < min(len(tests), FIRST_TESTS) and (not first or spent + seconds[tests[first]] <= FIRST_SECONDS):
        spent += seconds[tests[first]]
        first += 1
    return [part for part in (tests[:first], tests[first:]) if part]
