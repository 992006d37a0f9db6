"""The Spark engine's merge into Iceberg: the whole conformance suite, and one DataFrame for every run."""

from pathlib import Path

import pyarrow as pa
import pytest
from tests.conformance.test_merge_iceberg import IntoIceberg
from tests.support.iceberg_tables import load, open_table, rows_of

from lakebed.engines.spark.merge import SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.table.merge import merge

pytestmark = pytest.mark.spark


@pytest.mark.full
class TestTableIntoIceberg(IntoIceberg):
    engine = "spark"

    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark, driver_rows=0)


def test_a_dataframe_is_merged_with_its_new_column_in_one_snapshot(tmp_path: Path, spark_local: Session) -> None:
    target = open_table(tmp_path)
    for first in (0, 100, 200):
        load(target, pa.table({"id": list(range(first, first + 100)), "name": ["old"] * 100}))
    snapshots = len(target.existing_table().snapshots())
    source = spark_local.spark.createDataFrame(
        [(150, "new", "x"), (999, "more", "y")], "id bigint, name string, tag string"
    )
    result = merge(source, target, keys="id")
    assert (result.inserted, result.updated, result.files_rewritten, result.files_kept) == (1, 1, 1, 2)
    assert len(target.existing_table().snapshots()) == snapshots + 1
    found = [row for row in rows_of(target) if row["tag"] is not None]
    assert found == [{"id": 150, "name": "new", "tag": "x"}, {"id": 999, "name": "more", "tag": "y"}]
