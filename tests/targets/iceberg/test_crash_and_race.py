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
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of
from tests.support.s3_server import S3Server

from lakebed.state.ledger import Ledger
from lakebed.storage import local_path
from lakebed.table.sweep import sweep
from lakebed.targets.iceberg.target import IcebergTarget

pytestmark = pytest.mark.processes

CHILD = SUPPORT / "iceberg_child.py"
PATH = {"PYTHONPATH": str(ROOT)}
OLD = [("n", None), ("old", None)]
NEW = [("n", None), ("new", "x"), ("new", "y")]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("after the schema", OLD),
        ("after the delete", OLD),
        ("after the files", OLD),
        ("at the commit", OLD),
        ("after the commit", NEW),
    ],
)
def test_killed_at_any_stage_the_table_is_old_or_new(
    tmp_path: Path, stage: str, expected: list[tuple[str, str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = open_table(tmp_path)
    load(target, pa.table({"id": ["old"]}), OCTOBER, partition_by=["lakebed_period"])
    load(target, pa.table({"id": ["n"]}), NOVEMBER)
    command = [sys.executable, str(CHILD), "kill", str(tmp_path), stage]
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
