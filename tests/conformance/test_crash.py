"""Killed anywhere, a table is in the old state or the new one; of two that commit at once, one wins."""

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import polars
import pyarrow.dataset as pads
import pytest
from tests.support import SUPPORT, dying

from lakebed.model import DELIVERY
from lakebed.targets.base import Target
from lakebed.testing.target import contents

pytestmark = pytest.mark.processes

PROGRAM = str(SUPPORT / "dying.py")


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, PROGRAM, *arguments], check=True)


def steps_of_a_commit(place: Path) -> list[str]:
    """The names of all checkpoints that replacing twenty files by twelve passes."""
    seen: list[str] = []
    dying.one_file_per_row(dying.table(str(place), seen.append), dying.NEW, replace=True)
    return seen


def state_of(target: Target) -> str:
    found = contents(target)
    assert found in (dying.OLD, dying.NEW)
    return str(found[0][DELIVERY])


def seen_by_others(folder: Path) -> dict[str, list[tuple[int, str]]]:
    """What readers that know nothing of Lakebed read from the folder."""
    columns = ["id", DELIVERY]
    arrow = pads.dataset(folder, format="parquet").to_table(columns=columns)
    frame = polars.read_parquet(folder / "**/*.parquet").select(columns)
    in_duckdb = duckdb.connect().sql(f"SELECT id, {DELIVERY} FROM '{folder}/**/*.parquet'").fetchall()
    return {
        "pyarrow": sorted(zip(*(arrow[name].to_pylist() for name in columns), strict=True)),
        "polars": sorted(frame.rows()),
        "duckdb": sorted(in_duckdb),
    }


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    folder = tmp_path / "original"
    dying.one_file_per_row(dying.table(str(folder)), dying.OLD, replace=False)
    assert len(list(folder.glob("*.parquet"))) == 20
    return folder


def copies(original: Path, count: int) -> str:
    """As many copies as there are ways to die; returns their path with STEP for the number."""
    for step in range(1, count + 1):
        target = original.with_name(f"copy{step}{original.suffix}")
        if original.is_dir():
            shutil.copytree(original, target)
            shutil.copytree(original.with_name(f".{original.name}.txn"), target.with_name(f".{target.name}.txn"))
        else:
            shutil.copy(original, target)
    return str(original.with_name(f"copySTEP{original.suffix}"))


def expected(rows: list[dict[str, object]]) -> list[tuple[object, object]]:
    return sorted((row["id"], row[DELIVERY]) for row in rows)  # type: ignore[type-var]


def test_parquet_killed_at_every_step_of_a_commit(filled: Path) -> None:
    names = steps_of_a_commit(Path(shutil.copytree(filled, filled.with_name("rehearsal"))))
    assert sum(name.startswith("put ") for name in names) == 12
    assert sum(name.startswith("delete ") for name in names) == 8
    place = copies(filled, len(names))
    run("commit", place, *map(str, range(1, len(names) + 1)))
    outcomes = {}
    for step, name in enumerate(names, start=1):
        folder = Path(place.replace("STEP", str(step)))
        committed = step >= names.index("recorded") + 1
        if not committed:
            # Nothing is visible before the commit, to anybody.
            assert set(map(tuple, seen_by_others(folder).values())) == {tuple(expected(dying.OLD))}, name
        outcomes[name] = state_of(dying.table(str(folder)))
        assert outcomes[name] == ("new" if committed else "old"), name
        for reader, seen in seen_by_others(folder).items():
            assert seen == expected(dying.NEW if committed else dying.OLD), (name, reader)
        # The next writer sweeps what the dead one left, and commits.
        dying.one_file_per_row(dying.table(str(folder)), dying.NEW, replace=True)
        assert {path.name for path in folder.with_name(f".{folder.name}.txn").iterdir()} == {"lock", "commit.json"}
    assert list(outcomes.values()).count("old") == names.index("recorded")


def test_parquet_killed_at_every_step_of_its_recovery(filled: Path) -> None:
    names = steps_of_a_commit(Path(shutil.copytree(filled, filled.with_name("rehearsal"))))
    halfway = names.index("recorded") + 5
    run("commit", str(filled), str(halfway + 1))
    place = copies(filled, len(names))
    run("recover", place, *map(str, range(1, len(names) + 1)))
    for step in range(1, len(names) + 1):
        folder = place.replace("STEP", str(step))
        assert state_of(dying.table(folder)) == "new"
        assert set(map(tuple, seen_by_others(Path(folder)).values())) == {tuple(expected(dying.NEW))}


def test_duckdb_killed_at_every_step(tmp_path: Path) -> None:
    file = tmp_path / "lake.duckdb"
    dying.one_file_per_row(dying.table(str(file)), dying.OLD, replace=False)
    names = steps_of_a_commit(Path(shutil.copy(file, tmp_path / "rehearsal.duckdb")))
    place = copies(file, len(names))
    run("commit", place, *map(str, range(1, len(names) + 1)))
    for step, name in enumerate(names, start=1):
        found = state_of(dying.table(place.replace("STEP", str(step))))
        assert found == ("new" if name == "committed" else "old"), name


@pytest.mark.parametrize("name", ["folder", "file.duckdb"])
def test_of_two_that_commit_at_once_one_wins(tmp_path: Path, name: str) -> None:
    place = str(tmp_path / name)
    dying.one_file_per_row(dying.table(place), dying.OLD, replace=False)
    racers = [
        subprocess.Popen(
            [sys.executable, PROGRAM, "race", place, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in (501, 502, 503)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    results = []
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        results.append(racer.communicate()[0].strip())
    assert sorted(results) == ["lost ConcurrentModification", "lost ConcurrentModification", "won"]
    winner = (501, 502, 503)[results.index("won")]
    assert [row["id"] for row in contents(dying.table(place))] == [winner]
