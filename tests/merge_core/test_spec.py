"""What is asked of a merge: keys and strategy, refused before anything is read."""

import pytest

from lakebed.datasets import DatasetMergeError, normalize_keys
from lakebed.errors import InvalidMergeArgument
from lakebed.merge_core.spec import STRATEGIES, MergeSpec, MergeStrategy, require_flag


def test_keys_are_normalised() -> None:
    assert normalize_keys("id") == ["id"]
    assert normalize_keys(["a", "b"]) == ["a", "b"]
    assert normalize_keys(("a",)) == ["a"]


@pytest.mark.parametrize(
    ("keys", "kind"),
    [([], "EMPTY_KEY_COLUMNS"), ("", "EMPTY_KEY_COLUMNS"), (["a", "A"], "INVALID_KEY_COLUMNS"),
     (["a", " "], "INVALID_KEY_COLUMNS"), ([1], "INVALID_KEY_COLUMNS")],
)  # fmt: skip
def test_wrong_keys_are_value_errors(keys: object, kind: str) -> None:
    with pytest.raises(ValueError) as caught:
        normalize_keys(keys)  # type: ignore[arg-type]
    assert isinstance(caught.value, DatasetMergeError)
    assert caught.value.kind == kind


def test_columns_come_along_unless_told_otherwise() -> None:
    assert MergeSpec(("id",), "upsert").schema_evolution
    assert MergeSpec.of(keys="id").schema_evolution
    assert not MergeSpec.of(keys="id", schema_evolution=False).schema_evolution


@pytest.mark.parametrize("strategy", [one for one in STRATEGIES if one != "deduplicate"])
def test_an_order_of_rows_has_a_meaning_for_one_strategy_only(strategy: MergeStrategy) -> None:
    with pytest.raises(InvalidMergeArgument, match=f"dedup_order_by has no meaning for the strategy {strategy}"):
        MergeSpec.of(keys="id", strategy=strategy, dedup_order_by="at")
    assert MergeSpec.of(keys="id", strategy="deduplicate", dedup_order_by="at").dedup_order_by == ("at",)


def test_a_wrong_strategy_names_the_right_ones() -> None:
    with pytest.raises(ValueError, match="Invalid merge strategy: 'upsrt'") as caught:
        MergeSpec.of(keys="id", strategy="upsrt")
    assert isinstance(caught.value, DatasetMergeError)
    assert caught.value.kind == "INVALID_STRATEGY"
    assert all(strategy in str(caught.value) for strategy in STRATEGIES)


@pytest.mark.parametrize(
    "asked", [{"strategy": "replace"}, {"missing": "drop"}, {"on_conflict": "overwrite"}], ids=lambda one: str(*one)
)
def test_a_word_that_is_not_known_is_refused_with_those_that_are(asked: dict[str, str]) -> None:
    with pytest.raises(InvalidMergeArgument) as refused:
        MergeSpec.of(keys="id", **asked)  # type: ignore[arg-type]
    assert refused.value.kind == "INVALID_STRATEGY"
    assert str(*asked.values()) in refused.value.message
    assert refused.value.remedy


def test_a_flag_is_true_false_or_left_open() -> None:
    assert [require_flag(flag) for flag in (True, False, None)] == [True, False, None]
    for wrong in (1, 0, "yes", []):
        with pytest.raises(InvalidMergeArgument) as refused:
            require_flag(wrong)
        assert refused.value.kind == "INVALID_USE_MERGE"
