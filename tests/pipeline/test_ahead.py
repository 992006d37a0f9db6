"""Several small deliveries in one job: what is committed is what each would have committed on its own."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob
from lakebed.errors import LakebedError
from lakebed.model import Converted
from lakebed.pipeline import ahead as module
from lakebed.pipeline.reports import RunReport
from lakebed.samples import SampleSpec, make_sample

TARGETS = ["parquet:lake", "duckdb:costs.duckdb", "iceberg:billing"]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    use_arrow(monkeypatch)
    return tmp_path


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The periods of each job for several deliveries."""
    jobs: list[list[str]] = []
    convert_all = ArrowEngine.convert_all

    def watched(self: ArrowEngine, some: Sequence[ConvertJob]) -> Sequence[Converted | LakebedError]:
        jobs.append([one.constants["lakebed_period"] for one in some])
        return convert_all(self, some)

    monkeypatch.setattr(ArrowEngine, "convert_all", watched)
    return jobs


def bills(folder: Path, *, months: int = 6, **spec: Any) -> Path:
    make_sample(folder, months=months, rows=30, columns=70, spec=SampleSpec(files=2, **spec))
    return folder


def rows(target: str, workdir: str) -> pa.Table:
    address = target if target.startswith("parquet") else f"{target}{'#' if 'duckdb' in target else '.'}sample_report"
    found = lakebed.read(address, workdir=workdir)
    table = found if isinstance(found, pa.Table) else found.to_table()
    names = sorted(table.schema.names)
    return table.select(names).sort_by([("identity_line_item_id", "ascending"), ("lakebed_period", "ascending")])


def told(report: RunReport) -> list[tuple[object, ...]]:
    return [(one.period, one.state, one.rows, one.reconciled, one.added_columns) for one in report.deliveries]


@pytest.mark.parametrize("target", TARGETS)
def test_it_changes_nothing_but_the_number_of_jobs(work: Path, target: str, together: list[list[str]]) -> None:
    source = bills(work / "bills")
    kind, _, place = target.partition(":")
    apart = lakebed.run(source, f"{kind}:apart_{place}", workdir="apart", deliveries_at_once=1)
    assert together == []
    report = lakebed.run(source, target, workdir="work")
    assert told(report) == told(apart)
    # What was done ahead is in the seconds of the delivery that it was done for.
    assert all(one.seconds >= one.steps["convert"] > 0 for one in report.deliveries)
    assert report.rows == apart.rows
    # The first creates the table, and the others need none of its columns any more.
    assert [len(one) for one in together] == [5]
    assert rows(target, "work").equals(rows(f"{kind}:apart_{place}", "apart"))
    assert all(one.skipped for one in lakebed.run(source, target, workdir="work").deliveries)
    assert len(together) == 1


def test_the_setting_says_how_many(work: Path, together: list[list[str]]) -> None:
    lakebed.run(bills(work / "bills", months=8), "parquet:lake", deliveries_at_once=3)
    assert [len(one) for one in together] == [3, 3]  # and the last one alone


def test_large_deliveries_go_alone(work: Path, together: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    assert lakebed.run(bills(work / "bills"), "parquet:lake").failed == ()
    assert together == []


@pytest.mark.parametrize("target", TARGETS)
def test_restated_months_are_replaced_together(work: Path, target: str, together: list[list[str]]) -> None:
    first = bills(work / "bills", restate=False)
    lakebed.run(first, target)
    lakebed.run(first, target, reload=True)
    assert [len(one) for one in together] == [5, 6]
    assert rows(target, ".lakebed").num_rows == 6 * 30


@pytest.mark.parametrize("target", TARGETS)
def test_one_that_is_bad_leaves_the_others(work: Path, target: str, together: list[list[str]]) -> None:
    source = bills(work / "bills", restate=False)
    victim = sorted(source.rglob("20260601-*/**/*.csv.gz"))[0]
    victim.write_bytes(victim.read_bytes()[:-20])
    report = lakebed.run(source, target)
    states = {one.period: one.state for one in report.deliveries}
    assert states.pop("2026-06") == "failed"
    assert set(states.values()) == {"loaded"}
    assert all(one.reconciled for one in report.deliveries if one.state == "loaded")
    assert rows(target, ".lakebed").num_rows == 5 * 30
    assert len(together) == 1


def test_columns_of_one_that_comes_before_are_in_the_plan_of_the_next(work: Path, together: list[list[str]]) -> None:
    """Months that were not there when the table was made, each with columns of its own."""
    source = bills(work / "bills", months=8)
    hidden = [path for path in source.rglob("2026*-2026*") if path.is_dir() and path.name < "202607"]
    kept = {path: path.with_name(f".{path.name}") for path in hidden}
    for path, other in kept.items():
        path.rename(other)
    lakebed.run(source, "parquet:lake")
    for path, other in kept.items():
        other.rename(path)
    report = lakebed.run(source, "parquet:lake")
    assert report.failed == ()
    assert report.rows == lakebed.run(source, "parquet:all", workdir="all").rows
    assert rows("parquet:lake", ".lakebed").num_rows == rows("parquet:all", "all").num_rows


@pytest.mark.parametrize("target", TARGETS)
def test_another_writer_in_between_changes_the_plan(
    work: Path, target: str, monkeypatch: pytest.MonkeyPatch, together: list[list[str]]
) -> None:
    """It adds a column after the job: what was converted ahead is thrown away, and nothing of it stays."""
    source = bills(work / "bills", restate=False)
    convert_all: Callable[..., Any] = ArrowEngine.convert_all
    address = target if target.startswith("parquet") else f"{target}{'#' if 'duckdb' in target else '.'}sample_report"

    def then_evolve(self: ArrowEngine, some: Sequence[ConvertJob]) -> Any:
        done = convert_all(self, some)
        lakebed.evolve(address, {"a_stranger": "string"})
        return done

    monkeypatch.setattr(ArrowEngine, "convert_all", then_evolve)
    report = lakebed.run(source, target)
    assert (report.failed, report.rows) == ((), 6 * 30)
    assert "a_stranger" in rows(target, ".lakebed").schema.names
    swept = lakebed.sweep(older_than_days=0) if target != "duckdb:costs.duckdb" else None
    assert swept is None or not swept.to_dict().get("orphans")


def test_an_interrupt_gives_everything_back(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = bills(work / "bills", restate=False)

    def interrupt(self: ArrowEngine, some: Sequence[ConvertJob]) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ArrowEngine, "convert_all", interrupt)
    with pytest.raises(KeyboardInterrupt):
        lakebed.run(source, "parquet:lake")
    monkeypatch.undo()
    monkeypatch.chdir(work)
    use_arrow(monkeypatch)
    report = lakebed.run(source, "parquet:lake")
    assert (report.failed, report.rows) == ((), 6 * 30)
    assert [one.state for one in report.deliveries] == ["loaded"] * 6


def test_a_run_that_finds_everything_loaded_asks_of_each_delivery_once(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bills(work / "bills", months=10, restate=False)
    lakebed.run(source, "parquet:lake")
    asked: list[str] = []
    is_loaded = module.Ahead._is_loaded
    monkeypatch.setattr(
        module.Ahead,
        "_is_loaded",
        lambda self, target, delivery: (asked.append(delivery.slice.period), is_loaded(self, target, delivery))[1],
    )
    assert all(one.skipped for one in lakebed.run(source, "parquet:lake").deliveries)
    assert len(asked) == 10
