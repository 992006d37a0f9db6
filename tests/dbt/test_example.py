"""examples/dbt on top of a loaded bill: costs add up, and a restated month flows through every model."""

import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.arrow_runs import use_arrow
from tests.support.dbt_env import PACKAGE, DbtProcess, Project
from tests.surface.source_tree import ROOT

import lakebed

pytestmark = pytest.mark.processes

MODELS = ("cost_by_service", "amortised_cost", "unit_cost_by_tag")


def costs_of_bill(folder: Path) -> dict[str, Decimal]:
    """The cost of each month in the loaded bill."""
    loaded = lakebed.read("iceberg:billing.costs", workdir=folder / ".lakebed").to_table()
    summed = loaded.group_by("lakebed_period").aggregate([("line_item_unblended_cost", "sum")])
    return dict(zip(*(column.to_pylist() for column in summed.columns), strict=True))


def restate(folder: Path, month: str) -> None:
    """A newer delivery of a month, with half of its rows, takes the place of the one that is loaded."""
    place = folder / ".lakebed"
    held = lakebed.read("iceberg:billing.costs", workdir=place).to_table()
    rows = held.filter(pc.equal(held["lakebed_period"], month))[: len(held) // 4]
    delivery = pa.array(["20261120T000000Z"] * len(rows))
    rows = rows.set_column(rows.schema.get_field_index("lakebed_delivery"), "lakebed_delivery", delivery)
    slice_ = {"lakebed_period": month}
    lakebed.write(rows, "iceberg:billing.costs", mode="replace_slice", slice=slice_, workdir=place)


def costs(project: Project, model: str) -> dict[str, Decimal]:
    held = lakebed.read(f"iceberg:finops.{model}", workdir=project.folder / ".lakebed").to_table()
    summed = held.group_by("month").aggregate([("cost", "sum")])
    return dict(zip(summed["month"].to_pylist(), summed["cost_sum"].to_pylist(), strict=True))


def test_the_example(tmp_path: Path, dbt: DbtProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    lakebed.sample(tmp_path / "bills", months=2, rows=200, columns=90)
    folder = tmp_path / "costs"
    shutil.copytree(ROOT / "examples" / "dbt", folder)
    (folder / "packages.yml").write_text(f"packages: [{{local: {PACKAGE}}}]\n")
    (folder / "dbt_packages").mkdir()
    (folder / "dbt_packages" / "lakebed").symlink_to(PACKAGE)
    project = Project(folder, dbt)

    lakebed.run(tmp_path / "bills", "iceberg:billing", table="costs", workdir=folder / ".lakebed")
    bill = costs_of_bill(folder)
    built = project.dbt("build").ok()
    assert {built.nodes[name] for name in MODELS} == {"success"}
    assert costs(project, "cost_by_service") == costs(project, "unit_cost_by_tag") == bill
    amortised = costs(project, "amortised_cost")
    assert amortised.keys() == bill.keys()

    restate(folder, "2026-09")
    restated = costs_of_bill(folder)
    assert {month for month in bill if bill[month] != restated[month]} == {"2026-09"}
    project.dbt("build").ok()
    assert costs(project, "cost_by_service") == costs(project, "unit_cost_by_tag") == restated
    again = costs(project, "amortised_cost")
    assert {month for month in amortised if again[month] != amortised[month]} == {"2026-09"}


def test_its_lineage_and_what_a_change_reaches_are_known_without_running_it() -> None:
    project = ROOT / "examples" / "dbt"
    traced = lakebed.analyze_project(dbt=project, dialect="duckdb")
    assert {issue.code for issue in traced.issues} == {"UNKNOWN_TABLE"}  # the source's columns are in no file
    reached = lakebed.impact(drop=["costs.line_item_usage_amount"], dbt=project, dialect="duckdb")
    assert [Path(one.place.file or "").name for one in reached.breaks] == ["unit_cost_by_tag.sql"]
