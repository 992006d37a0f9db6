"""examples/dbt on top of a loaded bill: costs add up, and a restated month flows through every model."""

import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow.compute as pc
import pytest
from tests.support.arrow_runs import use_arrow
from tests.support.dbt_env import PACKAGE, DbtProcess, Project
from tests.surface.source_tree import ROOT

import lakebed

pytestmark = pytest.mark.processes

MODELS = ("cost_by_service", "amortised_cost", "unit_cost_by_tag")


def load(bills: Path, folder: Path) -> dict[str, Decimal]:
    """Loads a bill as `lakebed run` does; returns the cost of each month."""
    lakebed.run(bills, "iceberg:billing", table="costs", workdir=folder / ".lakebed")
    loaded = lakebed.read("iceberg:billing.costs", workdir=folder / ".lakebed").to_table()
    months = loaded["lakebed_period"].unique().to_pylist()
    return {
        month: pc.sum(loaded.filter(pc.equal(loaded["lakebed_period"], month))["line_item_unblended_cost"]).as_py()
        for month in months
    }


def costs(project: Project, model: str) -> dict[str, Decimal]:
    held = lakebed.read(f"iceberg:finops.{model}", workdir=project.folder / ".lakebed").to_table()
    summed = held.group_by("month").aggregate([("cost", "sum")])
    return dict(zip(summed["month"].to_pylist(), summed["cost_sum"].to_pylist(), strict=True))


def test_the_example(tmp_path: Path, dbt: DbtProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    for name, restate in (("first", False), ("restated", True)):
        lakebed.sample(tmp_path / name, months=2, rows=200, columns=90, restate=restate)
    folder = tmp_path / "costs"
    shutil.copytree(ROOT / "examples" / "dbt", folder)
    (folder / "packages.yml").write_text(f"packages: [{{local: {PACKAGE}}}]\n")
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages" / "lakebed").symlink_to(PACKAGE)
    project = Project(folder, dbt)

    bill = load(tmp_path / "first", folder)
    built = project.dbt("build").ok()
    assert {built.nodes[name] for name in MODELS} == {"success"}
    assert costs(project, "cost_by_service") == costs(project, "unit_cost_by_tag") == bill
    amortised = costs(project, "amortised_cost")
    assert amortised.keys() == bill.keys()

    restated = load(tmp_path / "restated", folder)
    changed = {month for month in bill if bill[month] != restated[month]}
    assert changed
    again = project.dbt("build").ok()
    assert costs(project, "cost_by_service") == costs(project, "unit_cost_by_tag") == restated
    assert {month for month in amortised if costs(project, "amortised_cost")[month] != amortised[month]} == changed
    # A month that was not delivered again is not touched.
    unchanged = len(bill) - len(changed)
    assert unchanged
    assert again.messages["cost_by_service"].startswith("delete+insert")


def test_its_lineage_and_what_a_change_reaches_are_known_without_running_it() -> None:
    project = ROOT / "examples" / "dbt"
    traced = lakebed.analyze_project(dbt=project, dialect="duckdb")
    assert {issue.code for issue in traced.issues} == {"UNKNOWN_TABLE"}  # the source's columns are in no file
    reached = lakebed.impact(drop=["costs.line_item_usage_amount"], dbt=project, dialect="duckdb")
    assert [Path(one.place.file or "").name for one in reached.breaks] == ["unit_cost_by_tag.sql"]
