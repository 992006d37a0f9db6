"""After a writer was killed at any step, `lakebed sweep` leaves nothing in an Iceberg table that nothing names."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from tests.faults.commands import deliver
from tests.support import ROOT
from tests.support.iceberg_tables import open_table, plan, write
from tests.support.rest_fixture import rest_fixture
from tests.support.s3_server import S3Server

import lakebed
from lakebed.schema.arrow import from_arrow_schema
from lakebed.targets.base import Change
from lakebed.targets.iceberg.orphans import used_files
from lakebed.targets.iceberg.staging import marked_uuid

SQLITE, REST = "Iceberg on SQLite", "Iceberg on REST"
SAMPLE = {
    "first load": ("exchanged", "catalog's metadata written"),
    "load": ("snapshot written", "catalog's metadata written", "committed"),
    "merge": ("files written", "snapshot written", "catalog's metadata written", "merge committed"),
    "merge on DuckDB": ("file written", "described"),
    "evolve": ("evolved", "snapshot written", "catalog's metadata written"),
    "write": ("file written", "snapshot written", "catalog's metadata written", "write committed"),
    "first write": ("files written", "snapshot written"),
    "compact": ("files written", "snapshot written", "committed"),
    "rollback": ("catalog's metadata written",),
    "expire": ("catalog's metadata written",),
}
# A server writes the metadata itself, so that a rollback and an expiry leave nothing there.
ON_SERVER = {
    "merge": ("snapshot written", "merge committed"),
    "write": ("file written", "committed"),
    "compact": ("files written", "snapshot written"),
    "evolve": ("snapshot written",),
}


def swept(
    command: str,
    folder: Path,
    points: tuple[str, ...] = (),
    *,
    target: str = SQLITE,
    server: S3Server | None = None,
) -> None:
    source = folder / "bills"
    deliver(source)
    reached = json.dumps(None if server is None else asdict(server))
    program = [sys.executable, "-m", "tests.faults.sweeping", target, reached, command, str(folder), str(source)]
    program += points
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


@pytest.mark.server
@pytest.mark.processes
@pytest.mark.parametrize("command", ON_SERVER)
def test_killed_on_a_server(command: str, tmp_path: Path, s3_server: S3Server) -> None:
    swept(command, tmp_path, ON_SERVER[command], target=REST, server=s3_server)


@pytest.mark.server
@pytest.mark.processes
def test_killed_on_the_projects_catalog(tmp_path: Path, s3_server: S3Server) -> None:
    properties = {
        "warehouse": s3_server.new_bucket("swept") + "/warehouse",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": s3_server.endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": s3_server.access_key,
        "s3.secret-access-key": s3_server.secret_key,
        "client.region": s3_server.region,
    }
    with rest_fixture(tmp_path / "fixture", **properties) as uri:
        for command, points in ON_SERVER.items():
            folder = tmp_path / command.replace(" ", "-")
            folder.mkdir()
            swept(command, folder, points, target=uri, server=s3_server)


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


def test_metadata_that_no_catalog_named_is_given_an_hour(tmp_path: Path) -> None:
    """A rollback that is about to be committed looks just like one that died."""
    target = open_table(tmp_path)
    for number in (1, 2):
        lakebed.merge(pa.table({"id": [number]}), target, keys="id")
    now = Path(target.existing_table().metadata_location.removeprefix("file://"))
    left = now.with_name(f"00009-{marked_uuid()}.metadata.json")
    left.write_bytes(now.read_bytes())
    assert lakebed.sweep(target, older_than_days=0, workdir=tmp_path).files == ()
    old = (datetime.now(UTC) - timedelta(hours=2)).timestamp()
    os.utime(left, (old, old))
    assert lakebed.sweep(target, older_than_days=0, workdir=tmp_path).files == (str(left),)
    assert now.exists()


def test_work_folders_of_dead_drivers_go_when_all_in_them_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    staging = tmp_path / ".lakebed" / "staging"
    dead, alive, foreign = staging / f"write-{'a' * 32}", staging / f"merge-{'b' * 32}", staging / "write-me-not"
    old = (datetime.now(UTC) - timedelta(days=4)).timestamp()
    for folder in (dead, alive, foreign):
        (folder / "deep").mkdir(parents=True)
        for name in ("one.parquet", "deep/two.parquet"):
            (folder / name).write_bytes(b"x")
            os.utime(folder / name, (old, old))
    (alive / "deep" / "three.parquet").write_bytes(b"written just now")
    listed = lakebed.sweep(dry_run=True).files
    assert set(listed) == {str(dead / "one.parquet"), str(dead / "deep" / "two.parquet")}
    assert dead.exists()
    assert lakebed.sweep().files == listed
    assert not dead.exists()
    assert alive.exists()
    assert foreign.exists()


# A task waits until the other has written its file, and then ends the driver and its JVM.
KILLED_DRIVER = """
import glob, os, signal, sys, time
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

def rows(batches):
    for batch in batches:
        for number in batch.column(0).to_pylist():
            if number == 1:
                while not glob.glob(".lakebed/staging/write-*/**/*.parquet", recursive=True):
                    time.sleep(0.05)
                for process in processes:
                    os.kill(process, signal.SIGKILL)
        yield batch

with open_session(load_settings()) as session:
    spark = session.spark
    processes = (os.getpid(), spark._jvm.java.lang.ProcessHandle.current().pid())
    folder = os.getcwd()
    frame = spark.range(0, 2, 1, 2).mapInArrow(rows, "id long")
    frame.write.format("lakebed").mode("append").option("workdir", f"{folder}/.lakebed").save("iceberg:shop.wares")
"""


@pytest.mark.spark
@pytest.mark.processes
def test_a_write_by_the_data_source_whose_driver_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lakebed.write(pa.table({"id": [7]}), "iceberg:shop.wares")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED_DRIVER], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == -signal.SIGKILL, done.stderr[-3000:]
    left = [path for path in tmp_path.glob(".lakebed/staging/write-*/**/*") if path.is_file()]
    assert left
    assert lakebed.sweep().files == (), "it may be running: only its age tells"
    assert set(lakebed.sweep(older_than_days=0, dry_run=True).files) == {str(path) for path in left}
    assert all(path.exists() for path in left)
    lakebed.sweep(older_than_days=0)
    assert not list(tmp_path.glob(".lakebed/staging/write-*"))
    assert lakebed.read("iceberg:shop.wares").count_rows() == 1


def test_an_expiry_that_dies_while_it_removes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_table(tmp_path)
    for number in range(3):
        lakebed.merge(pa.table({"id": [7], "n": [number]}), target, keys="id", engine="arrow")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PyArrowFileIO, "delete", die)
        with pytest.raises(KeyboardInterrupt):
            lakebed.sweep(target, expire_days=0, workdir=tmp_path)
    table = target.existing_table()
    assert len(table.snapshots()) == 1
    swept = lakebed.sweep(target, older_than_days=0, workdir=tmp_path).files
    assert len(swept) >= 4, "two data files, and what named them"
    used = used_files(table)
    inside = [path for path in Path(table.location().removeprefix("file://")).rglob("*") if path.is_file()]
    assert {str(path) for path in inside} <= used
    assert target.state().rows == 1
