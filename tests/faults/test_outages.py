"""What does not kill a writer: a full disk, a locked ledger, a storage that is gone, a clock that goes back.

The writer refuses with a message, never a traceback; the table is old or new, and the next run finishes the work.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.cells import cell_of, require_old_or_new, run_cell
from tests.faults.commands import deliver

pytestmark = pytest.mark.processes

DONE, REFUSED, KILLED = 0, 3, -9
LOAD = ("discovered", "staging", "loading", "converted", "committing", "reconciled")
MERGE = ("source checked", "files written")


@pytest.fixture(scope="session")
def bills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bills")
    deliver(folder)
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own that a test may fill."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]).returncode:
        pytest.skip("only root may mount a disk that can be filled")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def cells(*chosen: tuple[str, str, tuple[str, ...]]) -> list[object]:
    """All but the first in `make test-full` only."""
    return [
        pytest.param(*one, id=" into ".join(one[:2]), marks=[pytest.mark.full] if number else [])
        for number, one in enumerate(chosen)
    ]


@pytest.mark.parametrize(
    ("command", "target", "points"),
    cells(
        ("load", "Parquet", ("staging", "committing", "recorded")),
        ("load", "DuckDB", (*LOAD, "opened", "inserted")),
        ("load", "Iceberg on SQLite", (*LOAD, "evolved", "snapshot written")),
        ("merge", "Parquet", (*MERGE, "locked", "recorded")),
        ("merge", "DuckDB", (*MERGE, "merged")),
        ("merge", "Iceberg on SQLite", (*MERGE, "snapshot written")),
    ),
)
def test_the_disk_is_full(command: str, target: str, points: tuple[str, ...], small_disk: Path, bills: Path) -> None:
    ran = run_cell(cell_of(command, target, small_disk, bills, fault="the disk is full", points=points))
    assert {outcome.ended for outcome in ran.outcomes} <= {DONE, REFUSED}
    assert REFUSED in {outcome.ended for outcome in ran.outcomes}
    require_old_or_new(ran.outcomes, ran.memory, journal=target == "Parquet")


@pytest.mark.parametrize(
    ("command", "target", "points"),
    cells(
        ("load", "DuckDB", ("staging", "reconciled")),
        ("load", "Parquet", LOAD),
        ("load", "Iceberg on SQLite", LOAD),
    ),
)
def test_the_ledger_is_locked(command: str, target: str, points: tuple[str, ...], tmp_path: Path, bills: Path) -> None:
    ran = run_cell(cell_of(command, target, tmp_path, bills, fault="the ledger is locked", points=points))
    assert {outcome.ended for outcome in ran.outcomes} == {REFUSED}
    require_old_or_new(ran.outcomes, ran.memory, journal=target == "Parquet")


@pytest.mark.parametrize(
    ("command", "target", "points"),
    cells(
        ("load", "Iceberg on SQLite", ("committing", "committed")),
        ("load", "Parquet", ("committing", "recorded", "reconciled")),
        ("load", "DuckDB", ("committing", "committed")),
        ("merge", "Parquet", ("files written", "recorded")),
        ("merge", "Iceberg on SQLite", ("files written", "committed")),
    ),
)
def test_the_next_run_has_a_clock_that_went_back_a_year(
    command: str, target: str, points: tuple[str, ...], tmp_path: Path, bills: Path
) -> None:
    ran = run_cell(cell_of(command, target, tmp_path, bills, fault="the clock goes back", points=points))
    assert {outcome.ended for outcome in ran.outcomes} == {KILLED}
    require_old_or_new(ran.outcomes, ran.memory, journal=target == "Parquet")


@pytest.mark.full
@pytest.mark.server
@pytest.mark.parametrize(
    ("command", "target", "points"),
    cells(
        ("merge", "Parquet on S3", ("files written", "recorded")),
        ("load", "Parquet on S3", ("loading", "committing", "recorded")),
        ("load", "Iceberg on REST", ("loading", "snapshot written", "committed")),
    ),
)
def test_the_storage_is_gone(command: str, target: str, points: tuple[str, ...], tmp_path: Path, bills: Path) -> None:
    ran = run_cell(cell_of(command, target, tmp_path, bills, fault="the storage is gone", points=points))
    assert {outcome.ended for outcome in ran.outcomes} == {REFUSED}
    require_old_or_new(ran.outcomes, ran.memory, journal=target == "Parquet on S3")
