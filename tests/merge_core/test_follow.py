"""A plan whose files are written holds on a table that others changed, or it does not: keys and files decide."""

from dataclasses import replace

import pytest

from lakebed.merge_core.follow import find_arrivals, follow, same_schema_change
from lakebed.merge_core.plan import Matches, MergePlan, plan_merge
from lakebed.merge_core.spec import MergeSpec, MergeStrategy
from lakebed.merge_core.validate import Unified, unify
from lakebed.model import DataFile
from lakebed.schema.types import Column, DataType, Integer, Schema, Text

ID = Integer(64)
REWRITTEN, KEPT, DROPPED = DataFile("rewritten", 10, 100), DataFile("kept", 10, 100), DataFile("dropped", 4, 40)
FILES = (REWRITTEN, KEPT, DROPPED)
ARRIVED = DataFile("arrived", 7, 70)


def schema(**columns: DataType) -> Schema:
    return Schema.of(Column(name, type_) for name, type_ in columns.items())


def unified(
    *, strategy: MergeStrategy = "upsert", current: Schema | None = None, incoming: Schema | None = None
) -> Unified:
    return unify(
        MergeSpec.of(keys="id", strategy=strategy),
        current or schema(id=ID, v=Text()),
        incoming or schema(id=ID, v=Text()),
    )


def planned(strategy: MergeStrategy = "delete_insert") -> MergePlan:
    """Two rows of one file match, all of another, and none of the third."""
    matches = Matches({"rewritten": 2, "dropped": 4}, {}, 6)
    return plan_merge(unified(strategy=strategy), files=FILES, source_rows=8, matches=matches, scanned=3)


def test_the_example_rewrites_drops_and_keeps() -> None:
    plan = planned()
    assert (plan.rewrite, plan.drop, plan.keep) == ((REWRITTEN,), (DROPPED,), (KEPT,))


def test_new_files_are_those_that_the_plan_has_not_seen() -> None:
    found = find_arrivals(planned(), [*FILES, ARRIVED])
    assert found is not None
    assert found.new == (ARRIVED,)
    assert found.every == (*FILES, ARRIVED)
    unchanged = find_arrivals(planned(), FILES)
    assert unchanged is not None
    assert unchanged.new == ()


def test_a_kept_file_that_is_gone_is_no_matter_and_one_that_changed_is_a_new_one() -> None:
    gone = find_arrivals(planned(), [REWRITTEN, DROPPED])
    assert gone is not None
    assert gone.new == ()
    for changed in (replace(KEPT, rows=9), replace(KEPT, size_bytes=99), replace(KEPT, fingerprint="other")):
        found = find_arrivals(planned(), [REWRITTEN, changed, DROPPED])
        assert found is not None
        assert found.new == (changed,)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param([KEPT, DROPPED], id="a rewritten file is gone"),
        pytest.param([REWRITTEN, KEPT], id="a dropped file is gone"),
        pytest.param([replace(REWRITTEN, rows=11), KEPT, DROPPED], id="a rewritten file has changed"),
    ],
)
def test_a_plan_does_not_hold_where_a_file_that_it_replaces_is_another(files: list[DataFile]) -> None:
    assert find_arrivals(planned(), files) is None


def test_a_plan_does_not_hold_where_a_file_with_matched_keys_is_gone() -> None:
    """`insert` rewrites nothing, and yet did not insert the rows whose keys it had found there."""
    plan = planned("insert")
    assert plan.rewrite == ()
    assert find_arrivals(plan, [KEPT, DROPPED]) is None
    assert find_arrivals(plan, [REWRITTEN, DROPPED]) is not None


def test_what_deletes_every_row_that_the_source_lacks_never_holds() -> None:
    assert find_arrivals(planned("full_merge"), FILES) is None
    assert find_arrivals(planned("upsert"), FILES) is not None


def test_the_plan_goes_on_with_the_table_as_it_is_now() -> None:
    plan = planned()
    arrivals = find_arrivals(plan, [*FILES, ARRIVED])
    assert arrivals is not None
    now = unified(strategy="delete_insert")
    followed = follow(plan, now, arrivals)
    assert (followed.keep, followed.rewrite, followed.drop) == ((KEPT, ARRIVED), plan.rewrite, plan.drop)
    assert (followed.before, followed.total) == (31, 31 + 8 - 6)
    assert followed.evolution is now.evolution


WIDE = schema(id=ID, v=Text(), tag=Text())


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        pytest.param({}, {}, True, id="no column changes"),
        pytest.param({"incoming": WIDE}, {"incoming": WIDE}, True, id="the same column comes"),
        pytest.param({"incoming": WIDE}, {"current": WIDE, "incoming": WIDE}, False, id="another brought it first"),
        pytest.param({}, {"incoming": WIDE}, False, id="a column has to come now"),
        pytest.param({}, {"current": WIDE}, True, id="another added a column that the source lacks"),
        pytest.param({}, {"current": schema(id=ID, v=ID), "incoming": schema(id=ID, v=ID)}, False, id="another type"),
    ],
)
def test_written_files_fit_a_table_whose_columns_are_as_planned(
    before: dict[str, Schema], now: dict[str, Schema], same: bool
) -> None:
    plan = plan_merge(unified(**before), files=FILES, source_rows=1, matches=Matches(), scanned=0)
    assert same_schema_change(plan, unified(**now)) is same
