"""What those who run it every day rely on: sources by name, logs, metrics, relative months, exit codes, recipes."""

import ast
import json
import logging
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.arrow_runs import use_arrow
from typer.testing import CliRunner, Result

from lakebed.cli import COMMANDS, build, logs
from lakebed.cli.metrics import LAST_SUCCESS
from lakebed.samples import SampleSpec, make_sample

SPEC = SampleSpec(months=2, rows=6, columns=63, files=1, restate=False, report="one")
PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
STEPS = {"discover", "decide", "stage", "plan", "convert", "commit", "reconcile"}
Lakebed = Callable[..., Result]


@pytest.fixture
def lakebed_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lakebed]:
    """Runs a command in a fresh folder with a source `one`, in this process, on the Arrow engine."""
    monkeypatch.chdir(tmp_path)
    use_arrow(monkeypatch)
    make_sample(tmp_path / "one", spec=SPEC)
    runner = CliRunner()

    def run(*words: object) -> Result:
        arguments = [str(word) for word in words]
        return runner.invoke(build(arguments), arguments, catch_exceptions=False)

    yield run
    logs.reset()


def configure(folder: Path) -> None:
    (folder / "lakebed.toml").write_text(
        '[source.acme]\nurl = "one"\ntarget = "duckdb:costs"\n[source.gone]\nurl = "absent"\ntarget = "duckdb:costs"\n'
    )


def test_run_without_a_source_runs_them_all_and_reports_each(lakebed_command: Lakebed, tmp_path: Path) -> None:
    assert lakebed_command("run").exit_code == 2
    configure(tmp_path)
    done = lakebed_command("run", "--json")
    assert done.exit_code == 1
    told = json.loads(done.stdout)["sources"]
    assert (told["acme"]["rows"], "absent" in told["gone"]["error"]["message"]) == (12, True)
    shown = lakebed_command("run")
    assert "acme" in shown.stdout
    assert "error: gone: there is nothing at" in shown.stderr
    misspelt = lakebed_command("run", "acmee")
    assert misspelt.exit_code == 2
    assert "where should acmee go? There is no --target" in misspelt.stderr
    assert "The sources in lakebed.toml are acme, gone." in misspelt.stderr


def test_a_name_wins_over_a_folder_and_gives_a_plain_report(lakebed_command: Lakebed, tmp_path: Path) -> None:
    configure(tmp_path)
    (tmp_path / "acme").mkdir()
    done = lakebed_command("run", "acme", "--json")
    assert (done.exit_code, json.loads(done.stdout)["rows"]) == (0, 12)
    assert lakebed_command("run", "gone").exit_code == 1
    assert lakebed_command("run", "./acme", "--target", "duckdb:other").exit_code == 1
    nowhere = lakebed_command("run", "one")
    assert nowhere.exit_code == 2
    assert "There is no --target" in nowhere.stderr


@pytest.mark.parametrize("before", [True, False])
def test_every_step_is_logged_with_its_seconds_and_whose_it_is(lakebed_command: Lakebed, before: bool) -> None:
    words = ["run", "one", "--target", "duckdb:costs", "--period", "2026-10", "--json"]
    options = ["--log-format", "json", "-v"]
    done = lakebed_command(*options, *words) if before else lakebed_command(*words, *options)
    assert done.exit_code == 0
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    steps = {line["step"]: line for line in lines if "step" in line}
    assert set(steps) == STEPS
    assert len({line["run"] for line in steps.values()}) == 1
    assert {(line["report"], line["period"]) for name, line in steps.items() if name != "discover"} == {
        ("one", "2026-10")
    }
    assert all(line["seconds"] >= 0 and line["time"].endswith("Z") for line in steps.values())
    [told] = [line for line in lines if line["logger"] == "lakebed.cli"]
    assert (told["report"], told["period"], told["level"]) == ("one", "2026-10", "info")
    # And in the report.
    [delivery] = json.loads(done.stdout)["deliveries"]
    assert set(delivery["steps"]) == STEPS - {"discover"}
    assert delivery["size_bytes"] > 0


def test_logs_in_text_and_none(lakebed_command: Lakebed) -> None:
    words = ("run", "one", "--target", "duckdb:costs")
    loud = lakebed_command(*words, "-v", "--period", "2026-10")
    assert re.search(r"^\d\d:\d\d:\d\d info +one 2026-10: convert done in [0-9.]+ s$", loud.stderr, re.MULTILINE)
    quiet = lakebed_command(*words, "-q", "--period", "2026-09")
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert "2026-09" in quiet.stdout
    # Whoever calls it next begins anew.
    usual = lakebed_command(*words)
    assert "nothing to do" in usual.stderr
    assert logging.getLogger("lakebed").level == logging.WARNING


def test_an_error_is_a_line_of_the_log_too(lakebed_command: Lakebed) -> None:
    failed = lakebed_command("run", "absent", "--target", "duckdb:costs", "--log-format", "json", "-q")
    lines = [json.loads(line) for line in failed.stderr.splitlines()]
    assert [(line["level"], "absent" in line["message"]) for line in lines] == [("error", True)]


def metrics(path: Path) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(path.read_text())
    return {
        (
            sample.name,
            *(sample.labels.get(name, "") for name in ("period", "step", "state") if name in sample.labels),
        ): (sample.value)
        for family in families
        for sample in family.samples
    }


def test_metrics_of_a_run_and_the_last_success_outlives_failures(lakebed_command: Lakebed, tmp_path: Path) -> None:
    words = ("run", "one", "--target", "duckdb:costs", "--metrics-file", "lakebed.prom")
    assert lakebed_command(*words).exit_code == 0
    first = metrics(tmp_path / "lakebed.prom")
    assert first[("lakebed_run_succeeded",)] == 1
    assert first[("lakebed_rows", "2026-10")] == first[("lakebed_rows", "2026-09")] == 6
    assert first[("lakebed_reconciled", "2026-10")] == 1
    assert first[("lakebed_deliveries", "2026-10", "loaded")] == 1
    assert first[("lakebed_source_bytes", "2026-10")] > 0
    assert {key[2] for key in first if key[0] == "lakebed_step_seconds"} == STEPS - {"discover"}
    success = (LAST_SUCCESS, "2026-10")
    for broken in (tmp_path / "one").rglob("*.csv.gz"):
        broken.write_bytes(b"broken")
    failed = ("run", "one", "--target", "duckdb:other", "--workdir", "other", "--metrics-file", "lakebed.prom")
    assert lakebed_command(*failed).exit_code == 1
    second = metrics(tmp_path / "lakebed.prom")
    assert second[("lakebed_run_succeeded",)] == 0
    assert second[("lakebed_deliveries", "2026-10", "failed")] == 1
    assert second[success] == first[success]
    # A run that found nothing at all is told as well, and leaves nothing half written.
    assert lakebed_command("run", "absent", *words[2:]).exit_code == 1
    assert metrics(tmp_path / "lakebed.prom")[success] == first[success]
    assert [path.name for path in tmp_path.glob("lakebed.prom*")] == ["lakebed.prom"]


def test_metrics_that_cannot_be_written_are_refused(lakebed_command: Lakebed, tmp_path: Path) -> None:
    words = ("run", "one", "--target", "duckdb:costs", "--metrics-file")
    assert lakebed_command(*words, "absent/lakebed.prom").exit_code == 1
    (tmp_path / "page.prom").write_text("<html>\n")
    assert "is no file of metrics" in lakebed_command(*words, "page.prom").stderr


def test_nothing_of_a_help_text_is_eaten(lakebed_command: Lakebed) -> None:
    assert "duckdb:FILE[#TABLE]" in lakebed_command("plan", "--help").stdout
    for name in COMMANDS:
        assert "--log-format" in lakebed_command(name, "--help").stdout, name


def commands_in(text: str) -> list[list[str]]:
    """The `lakebed` commands of a script, as lists of words."""
    lines = (line for line in text.splitlines() if re.match(r"\s*lakebed\s", line))
    return [shlex.split(re.split(r"\s[0-9]?>", line)[0])[1:] for line in lines]


def require_parses(words: list[str]) -> None:
    """The command takes these words; what it would do is not done."""
    app = build(words)
    for command in app.registered_commands:
        command.callback = _nothing_like(command.callback)
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, f"{words}: {done.output}"


def _nothing_like(callback: Callable[..., object] | None) -> Callable[..., None]:
    def nothing(**_: object) -> None:
        return

    nothing.__signature__ = callback.__signature__  # type: ignore[union-attr, attr-defined]
    nothing.__annotations__ = callback.__annotations__ if callback else {}
    return nothing


def test_the_recipe_for_cron_is_a_script_whose_commands_exist() -> None:
    [script] = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    found = commands_in(script)
    assert len(found) == 3
    for words in found:
        require_parses(words)


def test_the_recipe_for_airflow_is_python_whose_commands_exist() -> None:
    [dag] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    texts = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else "acme" for part in node.values)
        for node in ast.walk(ast.parse(dag))
        if isinstance(node, ast.JoinedStr)
    ]
    found = [words for text in texts for words in commands_in(text)]
    assert len(found) == 1
    require_parses(found[0])


def test_the_page_of_operations_configures_sources_that_load() -> None:
    import tomllib

    from lakebed.config import Settings

    [text] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    settings = Settings.model_validate(tomllib.loads(text))
    assert set(settings.source) == {"acme", "globex"}


def test_the_page_of_operations_names_every_metric_and_exit_code(lakebed_command: Lakebed, tmp_path: Path) -> None:
    lakebed_command("run", "one", "--target", "duckdb:costs", "--metrics-file", "lakebed.prom")
    page = PAGE.read_text()
    written = {key[0] for key in metrics(tmp_path / "lakebed.prom")}
    assert written == set(re.findall(r"^\| `(lakebed_\w+)`", page, re.MULTILINE))
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == [0, 1, 2, 130, 143]


def test_a_refusal_names_its_delivery_once(lakebed_command: Lakebed, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.csv").write_text("bill/PayerAccountId,lineItem/UnblendedCost\n1,0.5\n")
    words = ("--target", "duckdb:costs", "--report", "mine", "--period", "2026-08")
    loaded = lakebed_command("run", "first", *words)
    assert "#mine has 1 row\n" in loaded.stdout
    assert "✓ mine 2026-08: 1 row in" in loaded.stderr
    refused = lakebed_command("run", "second", *words)
    assert refused.exit_code == 1
    assert "✗ mine 2026-08: other files are loaded for this report and period" in refused.stderr
    assert refused.stderr.count("mine 2026-08") == 1
