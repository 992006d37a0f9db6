"""Metrics properties name columns that the table has, whoever changed them: Spark refuses a table where they do not."""

from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.iceberg_runtime import by_runtime
from tests.support.iceberg_tables import OCTOBER, load, of_slice, open_table

from lakebed.model import RESERVED_COLUMNS
from lakebed.table.merge import merge
from lakebed.targets.iceberg.properties import METRICS
from lakebed.targets.iceberg.target import IcebergTarget


def metrics(target: IcebergTarget) -> dict[str, str]:
    properties = target.existing_table().properties
    return {key.removeprefix(METRICS): value for key, value in properties.items() if key.startswith(METRICS)}


def test_a_merged_table_names_none_and_a_loaded_one_its_own_columns(tmp_path: Path) -> None:
    merged, loaded = open_table(tmp_path, "billing.merged"), open_table(tmp_path, "billing.loaded")
    merge(pa.table({"id": [1], "v": ["a"]}), merged, keys="id")
    load(loaded, pa.table({"id": [1]}), OCTOBER)
    assert metrics(merged) == {}
    assert metrics(loaded) == dict.fromkeys(RESERVED_COLUMNS, "full")


def test_columns_that_a_later_load_brings(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    merge(pa.table({"id": [1], "v": ["a"]}), target, keys="id")
    load(target, of_slice(pa.table({"id": [2]}), OCTOBER))
    assert metrics(target) == dict.fromkeys(RESERVED_COLUMNS, "full")


def test_columns_that_others_renamed_and_dropped(tmp_path: Path) -> None:
    """PyIceberg leaves the old names in the properties; our next commit, of whatever kind, puts them right."""
    target = open_table(tmp_path)
    load(target, of_slice(pa.table({"id": [1], "mine": ["x"], "gone": ["y"]}), OCTOBER))
    table = target.existing_table()
    with table.transaction() as change:
        change.set_properties({METRICS + "mine": "counts", METRICS + "gone": "counts", METRICS + "never": "none"})
    with target.existing_table().update_schema(allow_incompatible_changes=True) as update:
        update.rename_column("mine", "yours")
        update.rename_column("lakebed_payer", "payer")
        update.delete_column("gone")
    merge(pa.table({"id": [1], "late": ["z"]}), target, keys="id")
    kept = {name: "full" for name in RESERVED_COLUMNS if name != "lakebed_payer"}
    assert metrics(target) == kept | {"payer": "full", "yours": "counts"}


@pytest.mark.spark
@pytest.mark.full
def test_spark_may_change_properties_and_order(tmp_path: Path) -> None:
    merged, renamed = open_table(tmp_path, "billing.merged"), open_table(tmp_path, "billing.renamed")
    merge(pa.table({"id": [1], "v": ["a"]}), merged, keys="id")
    load(renamed, pa.table({"id": [1]}), OCTOBER)
    with renamed.existing_table().update_schema() as update:
        update.rename_column("lakebed_payer", "payer")
    merge(pa.table({"id": [1], "late": ["z"]}), renamed, keys="id")
    by_runtime(
        merged,
        [
            text.format(f"lakebed.{target.name}")
            for target in (merged, renamed)
            for text in ("ALTER TABLE {} SET TBLPROPERTIES ('a'='b')", "ALTER TABLE {} WRITE ORDERED BY id")
        ],
    )
    assert merged.existing_table().properties["a"] == "b"
