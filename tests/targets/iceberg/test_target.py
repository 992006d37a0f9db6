"""The Iceberg target on a SQLite catalog: one commit, one snapshot, no column lost."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitStateUnknownException
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, of_slice, open_table, plan, rows_of, write

from lakebed.errors import ConcurrentModification, ConfigError, TargetError
from lakebed.model import Slice, Staging
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.types import Column, Schema, Text
from lakebed.storage import local_path
from lakebed.targets.base import Affected, Change, TableState
from lakebed.targets.iceberg.commit import OutcomeUnknown
from lakebed.targets.iceberg.target import IcebergTarget


def costs(*pairs: tuple[str, str], **more: list[object]) -> pa.Table:
    amounts = pa.array([Decimal(amount) for _, amount in pairs], pa.decimal128(38, 18))
    table = pa.table({"id": [name for name, _ in pairs], "cost": amounts})
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return table


def test_a_new_table_and_its_rows_are_one_commit(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    assert target.state().exists is False
    assert not (tmp_path / "catalog.db").exists(), "looking creates nothing"
    commit = load(target, costs(("a", "1.5"), ("b", "2.25")), OCTOBER, partition_by=["lakebed_period"])
    table = target.existing_table()
    assert (commit.rows, commit.files_added) == (2, 1)
    assert len(table.metadata.metadata_log) == 0, "one commit made it"
    assert [str(snapshot.summary.operation.value) for snapshot in table.snapshots()] == ["append"]
    assert target.state().partition_by == ("lakebed_period",)
    totals = target.totals(OCTOBER, ["cost"])
    assert (totals.rows, totals.sums["cost"]) == (2, Decimal("3.75"))


def test_schema_removal_and_arrival_are_one_snapshot(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("a", "1")), OCTOBER, partition_by=["lakebed_period"])
    load(target, costs(("n", "5")), NOVEMBER)
    before = target.existing_table()
    load(target, costs(("a", "2"), tag=["x"]), OCTOBER, properties={"run": "r1", "delivery": "d2"})
    after = target.existing_table()
    assert len(after.snapshots()) == len(before.snapshots()) + 1
    assert len(after.metadata.metadata_log) == len(before.metadata.metadata_log) + 1
    summary = after.current_snapshot().summary
    assert summary.operation.value == "overwrite"
    assert summary["lakebed.run"] == "r1"
    assert summary["lakebed.delivery"] == "d2"
    assert len(summary["lakebed.plan"]) == 64
    # By these names other programs, and the next release, find what a snapshot is: whether a lost answer was a commit.
    named = {name for name in summary.additional_properties if name.startswith("lakebed.")}
    assert named == {"lakebed.run", "lakebed.delivery", "lakebed.plan", "lakebed.staging", "lakebed.added-columns"}
    assert [(row["id"], row["cost"], row["tag"]) for row in rows_of(target)] == [
        ("a", Decimal("2.000000000000000000"), "x"),
        ("n", Decimal("5.000000000000000000"), None),
    ]


def test_loading_a_slice_again_replaces_it(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    for _ in range(3):
        load(target, costs(("a", "1"), ("b", "2")), OCTOBER, partition_by=["lakebed_period"])
    assert target.totals(None, ["cost"]).rows == 2
    assert target.state().rows == 2


def test_a_file_with_rows_of_two_slices_is_rewritten_not_dropped(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    both = pa.concat_tables([of_slice(costs(("a", "1")), OCTOBER), of_slice(costs(("n", "5")), NOVEMBER)])
    load(target, both)
    state = target.state()
    touched = target.affected(state, OCTOBER)
    assert (len(touched.whole), len(touched.mixed)) == (0, 1)
    load(target, costs(("a", "2")), OCTOBER)
    assert [(row["id"], str(row["cost"])[:1]) for row in rows_of(target)] == [("a", "2"), ("n", "5")]
    elsewhere = Slice("999", "report", "2026-10")
    assert target.affected(target.state(), elsewhere) == Affected()


def test_bounds_that_could_hold_a_slice_do_not_convict_a_file(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    around = pa.concat_tables(
        [of_slice(costs(("a", "1")), replace(OCTOBER, period=period)) for period in ("2026-08", "2026-12")]
    )
    load(target, around)
    assert target.affected(target.state(), OCTOBER) == Affected()


def stage_rows(target: IcebergTarget, rows: pa.Table, slice_: Slice) -> tuple[TableState, Staging, Change]:
    state = target.state()
    incoming = of_slice(rows, slice_)
    evolution = plan(target, state, from_arrow_schema(incoming.schema))
    staging = target.stage(state, evolution)
    removed = target.affected(state, slice_).whole
    return state, staging, Change(evolution, (write(incoming, staging),), removed, slice_)


def test_another_slice_loaded_in_between_is_no_obstacle(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("a", "1")), OCTOBER, partition_by=["lakebed_period"])
    planned = stage_rows(target, costs(("a", "2")), OCTOBER)
    load(open_table(tmp_path), costs(("n", "5")), NOVEMBER)
    target.commit(*planned)
    assert [(row["id"], str(row["cost"])[:1]) for row in rows_of(target)] == [("a", "2"), ("n", "5")]


def test_columns_added_in_between_are_no_obstacle_to_a_load_that_adds_none(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("a", "1")), OCTOBER)
    planned = stage_rows(target, costs(("a", "2")), OCTOBER)
    load(open_table(tmp_path), costs(("n", "5"), tag=["x"]), NOVEMBER)
    target.commit(*planned)
    assert [(row["id"], row["tag"]) for row in rows_of(target)] == [("a", None), ("n", "x")]


def test_the_same_slice_loaded_in_between_fails_clearly_and_is_not_doubled(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("n", "5")), NOVEMBER)
    planned = stage_rows(target, costs(("a", "1")), OCTOBER)
    load(open_table(tmp_path), costs(("a", "1")), OCTOBER)
    with pytest.raises(ConcurrentModification, match=r"report 2026-10 of 111122223333"):
        target.commit(*planned)
    assert target.totals(OCTOBER, ["cost"]).rows == 1


def test_a_commit_whose_answer_was_lost_is_not_repeated(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("n", "5")), NOVEMBER)
    planned = stage_rows(target, costs(("a", "1")), OCTOBER)
    first = target.commit(*planned)
    again = target.commit(*planned)
    assert first.version == again.version
    assert target.state().rows == 2
    target.abandon(planned[1])
    assert target.totals(None, ["cost"]).rows == 2, "what was committed is not abandoned"


def test_what_is_abandoned_is_gone(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("n", "5")), NOVEMBER)
    _, staging, _ = stage_rows(target, costs(("a", "1")), OCTOBER)
    assert list(local_path(staging.folder).rglob("*.parquet"))
    target.abandon(staging)
    assert not list(local_path(staging.folder).rglob("*.parquet"))


def test_two_processes_cannot_both_create_the_table(tmp_path: Path) -> None:
    first, second = open_table(tmp_path), open_table(tmp_path)
    planned = stage_rows(first, costs(("a", "1")), OCTOBER)
    load(second, costs(("n", "5")), NOVEMBER)
    with pytest.raises(ConcurrentModification, match="created by another"):
        first.commit(*planned)
    load(first, costs(("a", "1")), OCTOBER)
    assert first.state().rows == 2


def test_original_names_travel_with_the_table(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    incoming = Schema.of([Column("line_item_cost", Text(), original="lineItem/Cost")])
    state = target.state()
    evolution = plan(target, state, incoming)
    staging = target.stage(state, evolution)
    target.commit(state, staging, Change(evolution, (write(pa.table({"line_item_cost": ["1"]}), staging),)))
    assert target.existing_table().schema().find_field("line_item_cost").doc == "lineItem/Cost"
    more = incoming.with_columns([Column("tag", Text(), original="user:Tag")])
    state = target.state()
    evolution = plan(target, state, more)
    target.commit(state, target.stage(state, evolution), Change(evolution))
    assert [column.original for column in target.state().schema] == ["lineItem/Cost", "user:Tag"]


def test_a_catalog_that_cannot_be_reached_says_which(tmp_path: Path) -> None:
    target = open_table(tmp_path, type="rest", uri="http://127.0.0.1:9", token="hush-hush")
    with pytest.raises(TargetError, match=r"127\.0\.0\.1:9") as error:
        target.state()
    assert "hush-hush" not in str(error.value)


def test_the_bounds_of_a_file_are_those_of_its_rows(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    moment = datetime(2026, 10, 1, 12, 30)
    rows = costs(("a" * 40, "1.5"), ("b" * 40, "-2"), at=[moment, None], day=[date(2026, 1, 1), date(2026, 1, 2)])
    load(target, rows, OCTOBER)
    (file,) = target.state().files
    assert (file.rows, file.bounds["cost"].minimum, file.bounds["cost"].maximum) == (2, Decimal("-2"), Decimal("1.5"))
    assert (file.bounds["at"].minimum, file.bounds["at"].nulls) == (moment, 1)
    assert (file.bounds["day"].minimum, file.bounds["day"].maximum) == (date(2026, 1, 1), date(2026, 1, 2))
    text = file.bounds["id"]
    assert (text.minimum, text.maximum, text.exact) == ("a" * 16, "b" * 15 + "c", False)
    ours = file.bounds["lakebed_payer"]
    assert (ours.minimum, ours.maximum, ours.exact) == ("111122223333", "111122223333", True)


def test_an_answer_that_is_lost_on_its_way_is_found_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog commits and its answer never comes: for a new table, and for one that exists."""
    for slice_ in (OCTOBER, NOVEMBER):
        target = open_table(tmp_path)
        planned = stage_rows(target, costs(("a", "1")), slice_)
        commit = target.catalog.commit_table

        def lose(*arguments: Any, commit: Any = commit) -> None:
            commit(*arguments)
            raise CommitStateUnknownException("504 Gateway Timeout")

        monkeypatch.setattr(target.catalog, "commit_table", lose)
        target.commit(*planned)
    assert open_table(tmp_path).state().rows == 2


def test_files_of_an_unknown_outcome_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_table(tmp_path)
    load(target, costs(("n", "5")), NOVEMBER)
    planned = stage_rows(target, costs(("a", "1")), OCTOBER)

    def fail(*_: object) -> None:
        raise CommitStateUnknownException("connection reset")

    monkeypatch.setattr(target.catalog, "commit_table", fail)
    with pytest.raises(OutcomeUnknown, match="did not say"):
        target.commit(*planned)
    target.abandon(planned[1])
    assert list(local_path(planned[1].folder).rglob("*.parquet")), "it may still land"


def test_a_work_directory_that_engines_would_write_differently_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="%"):
        open_table(tmp_path / "100%")


def test_manifests_are_merged_and_slices_still_replaced(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    months = [f"2026-{month:02d}" for month in range(1, 7)]
    for month in months:
        load(target, costs((month, "1")), replace(OCTOBER, period=month), partition_by=["lakebed_period"])
        with target.existing_table().transaction() as transaction:
            transaction.set_properties({"commit.manifest.min-count-to-merge": "2"})
    table = target.existing_table()
    assert len(table.current_snapshot().manifests(table.io)) < len(months)
    load(target, costs(("again", "2")), replace(OCTOBER, period="2026-03"))
    load(target, costs(("more", "1"), tag=["x"]), replace(OCTOBER, period="2026-07"))
    assert sorted(str(row["id"]) for row in rows_of(target)) == sorted(
        ["again", "more", *(month for month in months if month != "2026-03")]
    )
    assert target.state().rows == 7
