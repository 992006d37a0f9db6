"""The commands of the pipeline as a user and a script meet them: exit codes, JSON, messages, what a pipe gets."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner, Result

from lakebed.cli import build
from lakebed.engines.spark.session import Session
from lakebed.samples import SampleSpec, SampleTruth, make_sample

pytestmark = pytest.mark.spark

SPEC = SampleSpec(months=2, rows=1_200, columns=70, files=2)
Lakebed = Callable[..., Result]
DELIVERY_KEYS = {
    "payer",
    "report",
    "period",
    "delivery",
    "state",
    "complete",
    "rows",
    "files",
    "added_columns",
    "reconciled",
    "seconds",
    "error",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SampleTruth:
    folder = tmp_path_factory.mktemp("bills")
    return make_sample(folder, months=SPEC.months, rows=SPEC.rows, columns=SPEC.columns, spec=SPEC)


@pytest.fixture
def lakebed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_local: Session) -> Lakebed:
    """Runs a command in a fresh folder, in this process, whose Spark session it then uses."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*words: object) -> Result:
        arguments = [str(word) for word in words]
        return runner.invoke(build(arguments), arguments, catch_exceptions=False)

    return run


def one_object(result: Result) -> dict[str, object]:
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def deliveries(result: Result) -> list[dict[str, object]]:
    found = one_object(result)["deliveries"]
    assert isinstance(found, list)
    return found


def test_run_in_json_is_one_object_and_everything_else_is_on_stderr(
    made: SampleTruth, lakebed_command: Lakebed
) -> None:
    first = lakebed_command("run", made.folder, "--target", "duckdb:costs", "--json")
    assert first.exit_code == 0
    report = one_object(first)
    assert (report["table"], report["rows"]) == ("sample_report", sum(one.totals.rows for one in made.current))
    for one in deliveries(first):
        assert one.keys() >= DELIVERY_KEYS
        assert (one["state"], one["reconciled"], one["complete"], one["error"]) == ("loaded", True, True, None)
    # Without a terminal there is a plain line for each delivery, and no bar.
    told = first.stderr.splitlines()
    assert [line for line in told if line.startswith("✓")] == [
        line for line in told if "1,200 rows" in line and "adds up" in line
    ]
    assert len([line for line in told if line.startswith("✓")]) == 2
    assert "\x1b" not in first.stderr
    assert "━" not in first.stderr
    again = lakebed_command("run", made.folder, "--target", "duckdb:costs", "--json")
    assert again.exit_code == 0
    assert [one["skipped"] for one in deliveries(again)] == [True, True]
    assert one_object(again)["rows"] == report["rows"]


def test_the_summary_is_whole_in_a_pipe(made: SampleTruth, lakebed_command: Lakebed, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "bills")
    spec = SampleSpec(**{**vars(SPEC), "report": "another-report-with-quite-a-long-name", "months": 1, "rows": 10})
    make_sample(tmp_path / "bills", months=1, rows=10, columns=70, spec=spec)
    done = lakebed_command("run", tmp_path / "bills", "--target", "duckdb:costs", "--period", "2026-10")
    assert done.exit_code == 0
    assert "…" not in done.stdout
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == [
        "report",
        "period",
        "delivery",
        "state",
        "rows",
        "new",
        "columns",
        "adds",
        "up",
        "seconds",
    ]
    newest = next(one for one in made.current if one.period == "2026-10")
    assert [line.split()[:6] for line in lines if line.startswith("sample-report")] == [
        ["sample-report", "2026-10", newest.delivery, "loaded", "1,200", "yes"]
    ]
    assert any(line.startswith("another-report-with-quite-a-long-name  2026-10") for line in lines)
    only = lakebed_command("run", tmp_path / "bills", "--target", "duckdb:one", "--report", "sample-report")
    assert only.stdout.split()[0] == "period"
    assert f"duckdb:{tmp_path / 'one'}#sample_report has 2,400 rows" in only.stdout


def test_a_failed_delivery_is_exit_code_1_with_its_reason_in_both_forms(
    made: SampleTruth, lakebed_command: Lakebed, tmp_path: Path
) -> None:
    shutil.copytree(made.folder, tmp_path / "bills")
    newest = next(one for one in made.current if one.period == "2026-10")
    broken = tmp_path / "bills" / newest.files[0]
    broken.write_bytes(broken.read_bytes()[:-200])
    failed = lakebed_command("run", tmp_path / "bills", "--target", "duckdb:costs", "--json")
    assert failed.exit_code == 1
    by_period = {one["period"]: one for one in deliveries(failed)}
    assert by_period["2026-10"]["state"] == "failed"
    assert Path(newest.files[0]).name in str(by_period["2026-10"]["error"])
    assert by_period["2026-09"]["state"] == "loaded"
    assert f"✗ sample-report 2026-10: {by_period['2026-10']['error']}".splitlines()[0] in failed.stderr
    status = lakebed_command("status", "--json")
    assert status.exit_code == 0
    assert {(one["period"], one["state"]) for one in deliveries(status)} >= {("2026-10", "failed")}
    assert Path(newest.files[0]).name in status.stdout
    assert Path(newest.files[0]).name in lakebed_command("status").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--target", "costs.duckdb"), "is not a target"),
        (("--target", "duckdb:costs", "--decimals", "99"), "precision"),
        (("--target", "duckdb:costs", "--master", "local[1]", "--remote", "sc://x"), "exclude each other"),
        (("--target", "duckdb:costs", "--period", "October"), "October"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_right(
    made: SampleTruth, lakebed_command: Lakebed, words: tuple[str, ...], says: str
) -> None:
    wrong = lakebed_command("run", made.folder, *words, "--json")
    assert wrong.exit_code == 2
    assert says in wrong.stderr
    error = one_object(wrong)["error"]
    assert isinstance(error, dict)
    assert says in str(error)
    assert "Traceback" not in wrong.stderr


def test_a_missing_option_is_exit_code_2(made: SampleTruth, lakebed_command: Lakebed) -> None:
    assert lakebed_command("run", made.folder).exit_code == 2


def test_strict_refuses_what_would_be_a_warning(made: SampleTruth, lakebed_command: Lakebed, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "bills")
    stray = tmp_path / "bills" / Path(made.current[-1].files[0]).parent / "stray-00009.csv.gz"
    stray.write_bytes(b"")
    words = ("run", tmp_path / "bills", "--target", "duckdb:costs")
    refused = lakebed_command(*words, "--strict")
    assert refused.exit_code == 1
    assert "stray-00009.csv.gz" in refused.stderr
    assert not (tmp_path / "costs").exists()
    warned = lakebed_command(*words, "--json")
    assert warned.exit_code == 0
    assert "stray-00009.csv.gz" in str(one_object(warned)["warnings"])
    assert "warning:" in warned.stderr
    stray.unlink()
    (tmp_path / "bills" / made.current[-1].files[0]).unlink()
    again = ("run", tmp_path / "bills", "--target", "duckdb:other", "--period", "2026-10")
    incomplete = lakebed_command(*again, "--strict")
    assert incomplete.exit_code == 1
    assert "--strict refuses an incomplete delivery" in incomplete.stderr
    loaded = lakebed_command(*again, "--json")
    # What is there is loaded, and never passes for a whole month.
    assert loaded.exit_code == 1
    [one] = deliveries(loaded)
    assert (one["state"], one["complete"], one["reconciled"]) == ("loaded", False, False)


def test_the_steps_one_by_one(made: SampleTruth, lakebed_command: Lakebed, tmp_path: Path) -> None:
    found = lakebed_command("discover", made.folder, "--json")
    assert found.exit_code == 0
    assert [one["period"] for one in deliveries(found)] == ["2026-10", "2026-09"]
    planned = lakebed_command("plan", made.folder, "--target", "duckdb:costs", "--json")
    assert [one["action"] for one in deliveries(planned)] == ["load", "load"]
    assert not (tmp_path / "costs").exists()
    staged = lakebed_command("stage", made.folder, "--json")
    assert staged.exit_code == 0
    assert all(Path(str(file)).is_file() for one in deliveries(staged) for file in one["files"])  # type: ignore[attr-defined]
    loaded = lakebed_command("load", "--target", "duckdb:costs", "--json")
    assert loaded.exit_code == 0, loaded.stderr
    assert [one["state"] for one in deliveries(loaded)] == ["loaded", "loaded"]
    after = lakebed_command("plan", made.folder, "--target", "duckdb:costs")
    assert "nothing to do" in after.stdout
    reconciled = lakebed_command("reconcile", "--target", "duckdb:costs", "--json")
    assert (reconciled.exit_code, one_object(reconciled)["reconciled"]) == (0, True)
    with duckdb.connect(tmp_path / "costs") as connection:
        connection.execute("UPDATE sample_report SET line_item_unblended_cost = 1 WHERE lakebed_period = '2026-09'")
    tampered = lakebed_command("reconcile", "--target", "duckdb:costs")
    assert tampered.exit_code == 1
    assert "does not add up" in tampered.stdout
    assert "differs: line_item_unblended_cost" in tampered.stderr
    assert lakebed_command("reconcile", "--target", "duckdb:costs", "--period", "2026-10").exit_code == 0


def test_files_without_a_manifest_are_loaded_as_what_they_were_said_to_be(
    lakebed_command: Lakebed, tmp_path: Path
) -> None:
    (tmp_path / "bill.csv").write_text("bill/PayerAccountId,lineItem/UnblendedCost\n012345678901,0.1\n")
    said = ("--report", "mine", "--period", "2026-10")
    assert lakebed_command("run", tmp_path / "bill.csv", "--target", "duckdb:costs").exit_code == 2
    assert lakebed_command("stage", tmp_path / "bill.csv", *said).exit_code == 0
    loaded = lakebed_command("load", "--target", "duckdb:costs", "--json")
    [one] = deliveries(loaded)
    assert (one["report"], one["period"], one["payer"], one["state"]) == ("mine", "2026-10", "012345678901", "loaded")


def test_commands_without_anything_to_do_say_what_comes_first(lakebed_command: Lakebed, tmp_path: Path) -> None:
    assert "begins" in lakebed_command("status").stdout
    nothing = lakebed_command("load", "--target", "duckdb:costs")
    assert nothing.exit_code == 0
    assert "nothing waits to be loaded" in nothing.stderr
    assert "lakebed discover SOURCE" in nothing.stderr
    assert deliveries(lakebed_command("load", "--target", "duckdb:costs", "--json")) == []
    unknown = lakebed_command("reconcile", "--target", "duckdb:costs")
    assert unknown.exit_code == 1
    assert "the ledger knows no load into" in unknown.stderr
    absent = lakebed_command("run", tmp_path / "absent", "--target", "duckdb:costs")
    assert absent.exit_code in (1, 2)
    assert "absent" in absent.stderr
