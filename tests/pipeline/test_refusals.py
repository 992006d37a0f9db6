"""What a run says when it cannot begin: no Spark is started for that."""

import subprocess
import sys
from pathlib import Path

import pytest

import lakebed
from lakebed.samples import SampleSpec, make_sample
from lakebed.targets.duckdb.target import DuckDBTarget

HOLDER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def bills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    spec = SampleSpec(months=2, rows=10, columns=63, files=1, restate=False)
    make_sample(tmp_path / "bills", months=2, rows=10, columns=63, spec=spec)
    return str(tmp_path / "bills")


def test_a_database_that_another_program_holds_is_named_with_its_holder(
    bills: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = DuckDBTarget.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "wait_seconds", 0.2)
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "costs")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        report = lakebed.run(bills, f"duckdb:{tmp_path / 'costs'}")
        holder.communicate("")
    assert [one.state for one in report.deliveries] == ["failed", "failed"]
    for one in report.deliveries:
        assert f"process {holder.pid}" in str(one.error)
        assert "Close the file there" in str(one.error)
    assert report.tables == ()
