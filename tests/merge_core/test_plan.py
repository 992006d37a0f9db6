"""What a plan says of itself: counts, files and columns, as text and as JSON; and what refusals show."""

import pytest

from lakebed.errors import DatasetMergeError, EngineError
from lakebed.merge_core.plan import Matches, MergePlan, plan_merge
from lakebed.merge_core.refusals import duplicate_keys, key_missing
from lakebed.merge_core.result import MergeResult
from lakebed.merge_core.spec import MergeSpec, MergeStrategy
from lakebed.merge_core.validate import unify
from lakebed.model import DataFile
from lakebed.schema.evolve import FormatRules
from lakebed.schema.types import Column, DataType, Integer, List, Schema, Text

FILES = (DataFile("a", 10, 100), DataFile("b", 10, 100))
SPEC = MergeSpec.of(keys="id")


def schema(**columns: DataType) -> Schema:
    return Schema.of(Column(name, type_) for name, type_ in columns.items())


def planned(matched: int, source_rows: int = 3, *, strategy: MergeStrategy = "upsert") -> MergePlan:
    """A narrow column is widened, and a new one comes along."""
    unified = unify(
        MergeSpec.of(keys="id", strategy=strategy),
        schema(id=Integer(64), n=Integer(32)),
        schema(id=Integer(64), n=Integer(64), tag=Text()),
    )
    return plan_merge(
        unified, files=FILES, source_rows=source_rows, matches=Matches({"a": matched}, {}, matched), scanned=1
    )


def test_a_plan_tells_what_becomes_of_rows_files_and_columns() -> None:
    said = planned(2).to_dict()
    assert said["expected"] == {"inserted": 1, "updated": 2, "deleted": 0, "total": 21}
    assert said["files"] == {"rewrite": ["a"], "drop": [], "keep": 1, "scanned": 1}
    assert said["widened_columns"] == [{"column": "n", "before": "int32", "after": "int64"}]
    assert (said["added_columns"], said["creates_table"]) == (["tag"], False)
    assert str(planned(2)).splitlines()[-2:] == ["  add column tag text", "  widen n from int32 to int64"]


def test_a_merge_that_changes_no_row_changes_no_column() -> None:
    plan = planned(0, source_rows=0)
    said = plan.to_dict()
    assert (plan.changes_nothing, said["added_columns"], said["widened_columns"]) == (True, [], [])
    assert str(plan).endswith("nothing changes: the table keeps its 20 rows")


def test_a_plan_of_a_new_table_says_how_many_columns_it_gets() -> None:
    unified = unify(SPEC, None, schema(id=Integer(64), tag=Text()))
    plan = plan_merge(unified, files=(), source_rows=3, matches=Matches(), scanned=0)
    assert str(plan).splitlines()[-1] == "  create the table with 2 columns"
    assert (plan.to_dict()["creates_table"], plan.to_dict()["added_columns"]) == (True, [])


def test_files_that_are_rewritten_together_stay_below_a_size_and_in_one_partition() -> None:
    """A pack is held in memory, and written into one partition."""
    megabytes = [30, 30, 30, 20, 10, 100, 1]
    files = [
        DataFile(f"{number}", 10, size << 20, {"p": "a" if number < 6 else "b"})
        for number, size in enumerate(megabytes)
    ]
    unified = unify(SPEC, schema(id=Integer(64)), schema(id=Integer(64)))
    matches = Matches({file.uri: 1 for file in files}, {}, 7)
    plan = plan_merge(unified, files=files, source_rows=7, matches=matches, scanned=7)
    assert [[file.uri for file in pack] for pack in plan.packs] == [["0", "1"], ["2", "3", "4"], ["5"], ["6"]]
    assert plan.repack


def test_rows_that_were_matched_in_no_file_of_the_table_are_an_error() -> None:
    """Counted, they would be reported as updated, and no file would have been rewritten."""
    unified = unify(SPEC, schema(id=Integer(64)), schema(id=Integer(64)))
    with pytest.raises(EngineError, match=r"found rows in B, which is no file of the table"):
        plan_merge(unified, files=FILES, source_rows=3, matches=Matches({"a": 1, "B": 1}, {}, 2), scanned=2)


def test_a_result_has_the_plan_where_there_is_one() -> None:
    plan = planned(2)
    assert MergeResult(inserted=1, total=21, before=20, plan=plan).to_dict()["plan"] == plan.to_dict()
    assert "plan" not in MergeResult(inserted=1, total=21, before=20).to_dict()


@pytest.mark.parametrize(("count", "more"), [(1, False), (5, False), (6, True)])
def test_a_refusal_shows_five_keys_and_says_that_there_are_more(count: int, more: bool) -> None:
    keys = [(f"key {number}",) for number in range(count)]
    refused = duplicate_keys(SPEC, count=count, keys=keys)
    assert refused.message.endswith(", ...") is more
    assert refused.keys == tuple(key for (key,) in keys[:5])


def test_a_refusal_shows_keys_as_they_are_written() -> None:
    one = duplicate_keys(SPEC, count=1, keys=[("a",)])
    assert one.message == "1 key (id) occurs more than once in the source: 'a'"
    two = duplicate_keys(MergeSpec.of(keys=["id", "day"]), count=2, keys=[(1, "a"), (2, "b")])
    assert two.message == "2 keys (id, day) occur more than once in the source: (1, 'a'), (2, 'b')"
    assert two.keys == ((1, "a"), (2, "b"))


@pytest.mark.parametrize(("count", "shown"), [(0, "none."), (20, "c18, c19."), (21, "c18, c19, ....")])
def test_a_key_that_is_missing_is_answered_with_twenty_columns(count: int, shown: str) -> None:
    refused = key_missing(SPEC, side="source", column="id", present=[f"c{number}" for number in range(count)])
    assert refused.remedy is not None
    assert refused.remedy.endswith(shown)


def test_advice_is_given() -> None:
    with pytest.raises(DatasetMergeError) as variant:
        unify(SPEC, schema(id=Integer(64), v=Text()), schema(id=Integer(64), v=List(Integer(64))))
    assert "on_conflict='variant'" in str(variant.value)
    with pytest.raises(DatasetMergeError) as frozen:
        unify(
            MergeSpec.of(keys="id", schema_evolution=False),
            schema(id=Integer(64)),
            schema(id=Integer(64), tag=Text()),
        )
    assert frozen.value.remedy == "Allow schema evolution, or leave the column out of the source."


def test_numbers_arrive_as_text_only_where_the_path_holds_text() -> None:
    incoming = schema(id=Integer(64), part=Integer(64))
    for there, expected in ((Text(), Text()), (Integer(64), Integer(64))):
        unified = unify(SPEC, schema(id=Integer(64), part=there), incoming, rules=FormatRules(), paths=["part"])
        assert unified.evolution.final["part"].type == expected
    assert unify(SPEC, schema(id=Integer(64)), incoming, paths=["part"]).evolution.final["part"].type == Integer(64)
    assert unify(SPEC, None, incoming, paths=["part"]).evolution.final["part"].type == Text()
