"""Killed anywhere, the table is old or new and orphans are swept; four processes at once lose nothing."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support import ROOT, SUPPORT
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, of_slice, open_table, plan, rows_of, write
from tests.support.s3_server import S3Server

from lakebed.errors import ConcurrentModification
from lakebed.schema.arrow import from_arrow_schema
from lakebed.state.ledger import Ledger
from lakebed.storage import local_path
from lakebed.table.sweep import sweep
from lakebed.targets.base import Change
from lakebed.targets.iceberg.target import IcebergTarget

pytestmark = pytest.mark.processes

CHILD = SUPPORT / "iceberg_child.py"
PATH = {"PYTHONPATH": str(ROOT)}
OLD = [("n", None), ("old", None)]
NEW = [("n", None), ("new", "x"), ("new", "y")]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("evolved", OLD),
        ("exchanged", OLD),
        ("snapshot written", OLD),
        ("catalog's metadata written", OLD),
        ("committed", NEW),
    ],
)
def test_what_a_killed_commit_left_is_swept(
    tmp_path: Path, step: str, expected: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = open_table(tmp_path)
    load(target, pa.table({"id": ["old"]}), OCTOBER, partition_by=["lakebed_period"])
    load(target, pa.table({"id": ["n"]}), NOVEMBER)
    command = [sys.executable, str(CHILD), "kill", str(tmp_path), step]
    child = subprocess.run(command, env={**os.environ, **PATH}, check=False)
    assert child.returncode == -signal.SIGKILL

    reopened = open_table(tmp_path)
    assert [(row["id"], row.get("tag")) for row in rows_of(reopened)] == expected
    assert ("tag" in reopened.state().schema) is (expected is NEW), "the schema is as old or new as the rows"

    planned = sweep(workdir=tmp_path, dry_run=True)
    swept = sweep(workdir=tmp_path)
    assert (len(swept.files), len(swept.kept)) == ((0, 1) if expected is NEW else (1, 0))
    assert planned.files == swept.files
    assert [(row["id"], row.get("tag")) for row in rows_of(reopened)] == expected, "a sweep takes no row"
    assert not any(local_path(uri).exists() for uri in swept.files)
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        assert ledger.orphans() == ()

    load(reopened, pa.table({"id": ["new", "new"], "tag": ["x", "y"]}), OCTOBER)
    assert [(row["id"], row["tag"]) for row in rows_of(reopened)] == NEW


@pytest.mark.parametrize("theirs", [pa.int64(), pa.string()])
def test_a_column_that_another_has_added_meanwhile_is_planned_again(tmp_path: Path, theirs: pa.DataType) -> None:
    load(open_table(tmp_path), pa.table({"id": ["old"]}), OCTOBER, partition_by=["lakebed_period"])
    ours = open_table(tmp_path)
    state = ours.state()
    rows = of_slice(pa.table({"id": ["o"], "Tag": pa.array([1], pa.int64())}), OCTOBER)
    evolution = plan(ours, state, from_arrow_schema(rows.schema))
    staging = ours.stage(state, evolution)
    written = write(rows, staging)
    load(open_table(tmp_path), pa.table({"id": ["n"], "tag": pa.array([2]).cast(theirs)}), NOVEMBER)
    change = Change(evolution, (written,), ours.affected(state, OCTOBER).whole, OCTOBER)
    with pytest.raises(ConcurrentModification, match="the column Tag"):
        ours.commit(state, staging, change)


def test_a_column_that_another_has_widened_meanwhile_is_planned_again(tmp_path: Path) -> None:
    first = pa.table({"id": ["old"], "n": pa.array([1], pa.int32())})
    load(open_table(tmp_path), first, OCTOBER, partition_by=["lakebed_period"])
    ours = open_table(tmp_path)
    state = ours.state()
    wider = pa.table({"id": ["o"], "n": pa.array([1], pa.int64())})
    evolution = plan(ours, state, from_arrow_schema(of_slice(wider, OCTOBER).schema))
    staging = ours.stage(state, evolution)
    written = write(of_slice(wider, OCTOBER), staging)
    load(open_table(tmp_path), wider, NOVEMBER)
    with pytest.raises(ConcurrentModification, match="the column n"):
        ours.commit(state, staging, Change(evolution, (written,), ours.affected(state, OCTOBER).whole, OCTOBER))


def run_race(workdir: Path, target: IcebergTarget, **environment: str) -> None:
    load(target, pa.table({"id": ["first"]}), NOVEMBER)
    processes = [
        subprocess.Popen(
            [sys.executable, str(CHILD), "race", str(workdir), str(number), "3"],
            env={**os.environ, **PATH, **environment},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    errors = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], "\n".join(errors)
    found = rows_of(target)
    keys = [(number, turn) for number in range(4) for turn in range(3)]
    assert sorted(str(row["id"]) for row in found) == sorted(["first", *(f"{n}-{t}" for n, t in keys)])
    values = {f"c_{n}_{t}": f"value {n}-{t}" for n, t in keys}
    assert values.keys() <= set(target.state().schema.names), "all twelve columns are there"
    for row in found:
        mine = {name: value for name, value in row.items() if name.startswith("c_") and value is not None}
        assert list(mine.items()) == [item for item in values.items() if item[1] == f"value {row['id']}"]
    fields = target.existing_table().schema().fields
    assert len({field.field_id for field in fields}) == len(fields) == 12 + 5


@pytest.mark.full
def test_four_processes_add_columns_and_rows_at_once_on_sqlite(tmp_path: Path) -> None:
    run_race(tmp_path, open_table(tmp_path, "race.costs"))


@pytest.mark.full
@pytest.mark.server
def test_four_processes_add_columns_and_rows_at_once_on_rest(tmp_path: Path, s3_server: S3Server) -> None:
    properties = s3_server.catalog_properties
    target = open_table(tmp_path, "race.costs", storage=s3_server.settings, **properties)
    catalog = json.dumps({**properties, "storage": asdict(s3_server.settings)})
    run_race(tmp_path, target, RACE_CATALOG=catalog)
