"""The steps before the load as functions: paths as paths, filters by name, results as the command line prints them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakebed.cli import build
from lakebed.errors import ConfigError
from lakebed.pipeline.discover import discover
from lakebed.pipeline.load import load
from lakebed.pipeline.plan import plan
from lakebed.pipeline.stage import stage
from lakebed.pipeline.status import status
from lakebed.samples import SampleSpec, make_sample


@pytest.fixture
def bills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make_sample(tmp_path / "bills", months=2, rows=10, columns=63, spec=SampleSpec(files=1, restate=True))
    return tmp_path / "bills"


def printed(*words: object) -> dict[str, object]:
    """What a command prints with --json."""
    arguments = [*map(str, words), "--json"]
    result = CliRunner().invoke(build(arguments), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def as_json(value: dict[str, object]) -> object:
    return json.loads(json.dumps(value, default=lambda moment: moment.isoformat()))


def test_discover_and_status_are_what_their_commands_print(bills: Path) -> None:
    found = discover(bills, workdir=bills.parent / "work")
    assert as_json(found.to_dict()) == printed("discover", bills, "--workdir", bills.parent / "work")
    known = status(workdir=bills.parent / "work")
    assert as_json(known.to_dict()) == printed("status", "--workdir", bills.parent / "work")
    assert {one.delivery for one in known.deliveries if one.state == "superseded"} == {
        one.id for one in found.superseded
    }


def test_stage_is_what_its_command_prints(bills: Path) -> None:
    staged = stage(bills, period="2026-10")
    [one] = staged.deliveries
    assert one.slice.period == "2026-10"
    assert all(Path(file.uri).is_file() for file in one.files)
    assert as_json(staged.to_dict()) == printed("stage", bills, "--period", "2026-10")
    assert {one.slice.period for one in status().deliveries if one.state == "staged"} == {"2026-10"}


def test_plan_takes_paths_and_filters_and_a_path_object_is_a_parquet_folder(bills: Path) -> None:
    [one] = plan(bills, bills.parent / "lake", period="2026-10").deliveries
    assert (one.action, one.table) == ("load", f"parquet:{bills.parent / 'lake'}")
    assert as_json(plan(bills, "duckdb:costs").to_dict()) == printed("plan", bills, "--target", "duckdb:costs")
    with pytest.raises(ConfigError, match="is not a target"):
        plan(bills, str(bills.parent / "lake"))


def test_load_with_nothing_waiting_has_nothing_to_do(bills: Path) -> None:
    done = load("duckdb:costs")
    assert (done.deliveries, done.tables, done.failed) == ((), (), ())
    assert not (bills.parent / "costs").exists()
