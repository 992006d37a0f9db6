"""`lakebed impact` and `lakebed lineage --against` as a user types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lakebed.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    models = tmp_path / "models"
    models.mkdir()
    (models / "raw.sql").write_text("CREATE TABLE app.orders (id INT, amt INT, note STRING)")
    (models / "stg.sql").write_text("SELECT * FROM app.orders")
    (models / "totals.sql").write_text("SELECT id,\n  sum(amt) AS total\nFROM stg GROUP BY id")
    return tmp_path


def test_what_breaks_exits_with_one(folder: Path) -> None:
    done = run("impact", "--drop", "orders.amt", "--in", "models", cwd=folder)
    assert done.returncode == 1
    assert "models/totals.sql:2: it names stg.amt, which is gone too" in done.stdout
    assert "app.orders.amt -> stg.amt -> totals.total [value]" in done.stdout
    assert run("impact", "--drop", "orders.note", "--in", "models", cwd=folder).returncode == 0
    assert run("impact", "orders.amt", "--in", "models", cwd=folder).returncode == 0


def test_json_is_one_object(folder: Path) -> None:
    done = run("impact", "orders.id", "--rename", "orders.amt=amount", "--in", "models", "--json", cwd=folder)
    answer = json.loads(done.stdout)
    assert done.returncode == 1
    assert [change["kind"] for change in answer["changes"]] == ["any", "rename"]
    assert answer["breaks"][0]["file"] == "models/totals.sql"
    assert answer["breaks"][0]["line"] == 2


def test_a_comment_for_github(folder: Path) -> None:
    done = run("impact", "--retype", "orders.amt=STRING", "--in", "models", "--format", "github", cwd=folder)
    assert done.returncode == 1
    assert done.stdout.startswith("### Impact of `retype app.orders.amt to STRING`")
    assert "| `models/totals.sql:2` |" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--in", "models"), "no change"),
        (("orders.amt",), "--in DIR or --dbt DIR"),
        (("orders.amt", "--in", "models", "--dbt", "x"), "--in DIR or --dbt DIR"),
        (("orders.nope", "--in", "models"), "no column nope"),
        (("nope.x", "--in", "models"), "no table"),
        (("--rename", "orders.amt", "--in", "models"), "no value"),
        (("orders.amt", "--in", "models", "--format", "pdf"), "not known"),
        (("orders.amt", "--dbt", "models"), "dbt"),
    ],
)
def test_mistakes_are_usage_errors(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run("impact", *arguments, cwd=folder)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_project_that_is_not_there_is_told(folder: Path) -> None:
    done = run("impact", "orders.amt", "--in", "nowhere", cwd=folder)
    assert done.returncode == 1
    assert "there is no folder nowhere" in done.stderr


def test_two_folders_compared(folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "totals.sql").write_text("SELECT id, max(amt) AS total FROM app.orders GROUP BY id")
    text = run("lineage", "models", "--against", "old", cwd=folder)
    assert text.returncode == 0
    assert "lost app.orders.amt -> totals.total [value]  totals.sql:1" in text.stdout
    answer = json.loads(run("lineage", "models", "--against", "old", "--json", cwd=folder).stdout)
    assert {edge["source"] for edge in answer["lost"]} == {"app.orders.id", "app.orders.amt"}
    comment = run("lineage", "models", "--against", "old", "--format", "github", cwd=folder).stdout
    assert "<summary>2 edges lost</summary>" in comment
    same = run("lineage", "old", "--against", "old", cwd=folder)
    assert same.stdout == "no edge was gained or lost\n"
    for wrong in (("models", "old", "--against", "old"), ("models", "--against", "nowhere"), ("--against", "old")):
        assert run("lineage", *wrong, cwd=folder).returncode in (1, 2)
    refused = run("lineage", "models", "--against", "old", "--format", "html", cwd=folder)
    assert refused.returncode == 2
    assert "text, json, github" in refused.stderr


def test_a_folder_and_a_dbt_project_traced(folder: Path) -> None:
    answer = json.loads(run("lineage", "models", "--json", cwd=folder).stdout)
    assert [s["target"] for s in answer["statements"]] == ["app.orders", "stg", "totals"]
    (folder / "dbt_project.yml").write_text("name: shop")
    dbt = json.loads(run("lineage", "--dbt", ".", "--json", cwd=folder).stdout)
    assert {s["target"] for s in dbt["statements"]} == {"app.orders", "stg", "totals"}


def test_openlineage_with_a_namespace(folder: Path) -> None:
    done = run("lineage", "models", "--format", "openlineage", "--namespace", "duckdb://shop", cwd=folder)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["job"]["namespace"] for event in events} == {"duckdb://shop"}
    total = events[-1]["outputs"][0]["facets"]["columnLineage"]["fields"]["total"]["inputFields"]
    assert total[0]["transformations"][0]["subtype"] == "AGGREGATION"
