"""What a model's configuration may say."""

import pytest

from lakebed.dbt.model_task import select_list
from lakebed.dbt.words import ModelWords
from lakebed.errors import ConfigError


def test_what_is_meant_where_nothing_is_said() -> None:
    assert ModelWords.of("m", {}) == ModelWords(strategy="append")
    assert ModelWords.of("m", {"unique_key": "id", "on_schema_change": None}) == ModelWords(("id",), "merge")
    assert ModelWords.of("m", {"unique_key": ["a", "b"], "incremental_strategy": "delete+insert"}).missing == "null"


def test_words_may_stand_in_meta() -> None:
    config = {"meta": {"lakebed_target": "duckdb", "partition_by": ["day"], "owner": "me"}, "unique_key": "id"}
    words = ModelWords.of("m", config)
    assert (words.target, words.partition_by) == ("duckdb", ("day",))
    assert ModelWords.of("m", {**config, "lakebed_target": "parquet:x"}).target == "parquet:x"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"incremental_strategy": "merge"}, "needs to know which rows are the same"),
        ({"incremental_strategy": "append", "unique_key": "id"}, "never looks at a unique_key"),
        ({"incremental_strategy": "microbatch", "unique_key": "id"}, "no incremental_strategy 'microbatch'"),
        ({"incremental_strategy": "delete+insert", "unique_key": "id", "missing": "keep"}, "replaces whole rows"),
        ({"unique_key": "id", "missing": "zero"}, "missing is 'zero'"),
        ({"unique_key": 7}, "unique_key is 7"),
        ({"on_schema_change": "sync_all_columns"}, "would drop the columns"),
        ({"on_schema_change": "drop"}, "on_schema_change is 'drop'"),
        ({"on_conflict": "ignore"}, "on_conflict is 'ignore'"),
        ({"lakebed_allow_drop": "yes"}, "lakebed_allow_drop is 'yes'"),
        ({"lakebed_target": 1}, "lakebed_target is 1"),
        ({"merge_update_columns": ["a"]}, "no merge_update_columns"),
        ({"incremental_predicates": ["a > 1"]}, "no incremental_predicates"),
    ],
)
def test_what_is_refused(config: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        ModelWords.of("model.shop.m", config)
    assert refused.value.remedy
    assert refused.value.message.startswith("model.shop.m: ")


def test_types_that_no_target_has() -> None:
    columns = [("a", "INTEGER"), ("Sum of it", "HUGEINT"), ("u", "UUID"), ("s", "STRUCT(x HUGEINT)"), ("i", "INTERVAL")]
    assert select_list(columns) == (
        '"a", CAST("Sum of it" AS DECIMAL(38,0)) AS "Sum of it", CAST("u" AS VARCHAR) AS "u",'
        ' CAST("s" AS STRUCT("x" DECIMAL(38,0))) AS "s", CAST("i" AS VARCHAR) AS "i"'
    )
