"""After a writer was killed at any step, `lakebed sweep` leaves nothing in an Iceberg table that nothing names."""

import fcntl
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.faults.commands import deliver
from tests.support import ROOT
from tests.support.iceberg_tables import open_table, plan, write

import lakebed
from lakebed.schema.arrow import from_arrow_schema
from lakebed.targets.base import Change

SAMPLE = {
    "first load": ("exchanged", "catalog's metadata written"),
    "load": ("snapshot written", "catalog's metadata written", "committed"),
    "merge": ("files written", "snapshot written", "catalog's metadata written", "merge committed"),
    "merge on DuckDB": ("file written", "described"),
    "evolve": ("evolved", "snapshot written", "catalog's metadata written"),
}


def swept(command: str, folder: Path, points: tuple[str, ...] = ()) -> None:
    source = folder / "bills"
    deliver(source)
    program = [sys.executable, "-m", "tests.faults.sweeping", command, str(folder), str(source), *points]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(program, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert ran.returncode == 0, ran.stderr[-4000:]
    seen = [json.loads(line) for line in ran.stdout.splitlines()]
    assert seen
    for one in seen:
        assert one["killed"], one
        assert one["unknown"] == [], one
        assert one["empty_folders"] == [], one
        assert one["same_rows"], one
        assert one["dry_run_kept"], one
        assert one["listed"] == one["swept"] == one["left"], one
    assert any(one["left"] for one in seen), "a crash leaves something"


@pytest.mark.processes
@pytest.mark.parametrize("command", SAMPLE)
def test_killed_at_some_steps(command: str, tmp_path: Path) -> None:
    swept(command, tmp_path, SAMPLE[command])


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.parametrize("command", SAMPLE)
def test_killed_at_every_step(command: str, tmp_path: Path) -> None:
    swept(command, tmp_path)


def test_a_running_writer_is_left_alone_whatever_its_age(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    lakebed.merge(pa.table({"id": [1]}), target, keys="id")
    state = target.state()
    rows = pa.table({"id": [2], "tag": ["x"]})
    evolution = plan(target, state, from_arrow_schema(rows.schema))
    staging = target.stage(state, evolution)
    written = write(rows, staging)
    assert lakebed.sweep(target, older_than_days=0, workdir=tmp_path).files == ()
    target.commit(state, staging, Change(evolution, (written,)))
    assert lakebed.sweep(target, older_than_days=0, workdir=tmp_path).files == ()
    assert target.state().rows == 2


def test_what_others_left_is_theirs_and_what_is_young_stays(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    lakebed.merge(pa.table({"id": [1]}), target, keys="id")
    location = Path(target.existing_table().location().removeprefix("file://"))
    foreign = [
        location / "data" / "00000-0-0b8a2d4e-orphan.parquet",
        location / "metadata" / "0b8a2d4e-1111-4222-8333-444455556666-m0.avro",
        location / "metadata" / "snap-7-1-0b8a2d4e-1111-4222-8333-444455556666.avro",
        location / "metadata" / "00009-0b8a2d4e-1111-4222-8333-444455556666.metadata.json",
    ]
    ours = location / "data" / f"lakebed-{'1a4ebed0' * 4}" / "part-0.parquet"
    ours.parent.mkdir()
    for path in (*foreign, ours):
        path.write_bytes(b"{}")
    assert lakebed.sweep(target, workdir=tmp_path).files == ()
    old = (datetime.now(UTC) - timedelta(days=4)).timestamp()
    for path in (*foreign, ours):
        os.utime(path, (old, old))
    assert lakebed.sweep(target, workdir=tmp_path, dry_run=True).files == (str(ours),)
    assert ours.exists()
    assert lakebed.sweep(target, workdir=tmp_path).files == (str(ours),)
    assert not ours.parent.exists()
    assert all(path.exists() for path in foreign)


@pytest.mark.parametrize("kind", ["parquet", "duckdb"])
def test_stagings_of_dead_processes_beside_other_targets(tmp_path: Path, kind: str) -> None:
    """The lock on a staging's owner tells a dead process from one that runs."""
    address = f"parquet:{tmp_path / 't'}" if kind == "parquet" else f"duckdb:{tmp_path / 't.duckdb'}#t"
    lakebed.merge(pa.table({"id": [1]}), address, keys="id", workdir=tmp_path)
    area = tmp_path / (".t.txn" if kind == "parquet" else ".t.duckdb.txn")
    dead = area / "20260101T000000-0123abcd"
    (dead / "data").mkdir(parents=True)
    (dead / "owner").touch()
    (dead / "data" / "part.parquet").write_bytes(b"x")
    alive = area / "20260101T000000-0123abce"
    (alive / "data").mkdir(parents=True)
    with (alive / "owner").open("w") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        listed = lakebed.sweep(address, dry_run=True, workdir=tmp_path).files
        assert set(listed) == {str(dead / "owner"), str(dead / "data" / "part.parquet")}
        assert set(lakebed.sweep(address, workdir=tmp_path).files) == set(listed)
        assert not dead.exists()
        assert alive.exists()
    lakebed.sweep(address, workdir=tmp_path)
    assert not alive.exists()
