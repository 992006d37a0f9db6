"""A target that may not be written is refused with what to do: no traceback, nothing said twice, nothing left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from tests.support import SUPPORT
from tests.support.permissions import heed_permissions

from lakebed.errors import LakebedError, StorageError
from lakebed.samples import SampleSpec, make_sample
from lakebed.storage import Storage, system_errors

PROGRAM = str(SUPPORT / "interrupted_run.py")
SPEC = SampleSpec(months=1, rows=8, columns=63, files=1, restate=False)


def run(folder: Path, target: str) -> tuple[str, str]:
    """What a run that heeds permissions says: the error, and all of stderr."""
    command = [sys.executable, PROGRAM, "SIGTERM", "never", "arrow", "run", str(folder / "bills"), "--json"]
    ended = subprocess.run(
        [*command, "--target", target],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SUPPORT.parent.parent)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_permissions,
    )
    assert ended.returncode == 1, ended.stderr
    assert "Traceback" not in ended.stderr
    answer = json.loads(ended.stdout)
    found = answer.get("error", {}).get("message") or answer["deliveries"][0]["error"]
    return str(found), ended.stderr


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_sample(tmp_path / "bills", spec=SPEC)
    return tmp_path


@pytest.mark.processes
@pytest.mark.parametrize("target", ["duckdb:locked/costs", "parquet:locked/costs", "duckdb:locked/deep/costs"])
def test_a_folder_without_the_right_to_write(place: Path, target: str) -> None:
    (place / "locked").mkdir()
    (place / "locked").chmod(0o555)
    message, told = run(place, target)
    assert "Permission denied" in message
    assert message.count(str(place / "locked")) == 1
    assert "Give this user the right" in told
    assert list((place / "locked").iterdir()) == []


@pytest.mark.processes
def test_a_duckdb_file_that_may_only_be_read(place: Path) -> None:
    (place / "open").mkdir()
    duckdb.connect(place / "open" / "costs").close()
    (place / "open" / "costs").chmod(0o444)
    message, told = run(place, "duckdb:open/costs")
    assert message.splitlines()[0].count(str(place / "open" / "costs")) == 1
    assert "Give this user the right to write" in told


def test_a_path_below_a_file_is_nothing_and_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    below = str(tmp_path / "file" / "below" / "object")
    storage = Storage()
    assert not storage.exists(below)
    with pytest.raises(StorageError, match="is a file and no folder") as refused:
        storage.put(below, b"")
    assert refused.value.message.count(str(tmp_path)) == 1


def test_what_the_system_refuses_names_the_file_once_and_ours_passes_through(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as refused, system_errors(str(tmp_path)):
        (tmp_path / "absent" / "folder").mkdir()
    assert refused.value.message == f"{tmp_path}/absent/folder: No such file or directory"
    ours = LakebedError("ours")
    with pytest.raises(LakebedError) as passed, system_errors(str(tmp_path)):
        raise ours
    assert passed.value is ours
