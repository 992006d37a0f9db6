"""The Spark engine's merge: the conformance suite with DataFrames and tables as sources."""

import pyarrow as pa
import pytest
from tests.conformance.test_merge_parquet import IntoParquet

from lakebed.engines.spark.merge import SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.testing.merge_scenarios import Scenario

pytestmark = pytest.mark.spark


class OnSpark(IntoParquet):
    engine = "spark"

    @pytest.fixture(autouse=True)
    def _session(self, spark_local: Session) -> None:
        self.session = spark_local

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark)


@pytest.mark.full
class TestTableIntoParquet(OnSpark):
    """A source that the driver holds; staging it is all that differs."""


class TestDataFrameIntoParquet(OnSpark):
    def make_source(self, table: pa.Table) -> object:
        return self.session.spark.createDataFrame(table)

    def check(self, scenario: Scenario) -> None:
        if any(pa.types.is_timestamp(field.type) and field.type.unit == "ns" for field in scenario.incoming.schema):
            pytest.skip("Spark has no nanoseconds")
        super().check(scenario)


class TestShuffledIntoParquet(OnSpark):
    """A source too large for every worker to hold its keys; here every source is."""

    def make_engine(self) -> SparkMerge:
        return SparkMerge(self.session.spark, broadcast_rows=0)

    def make_source(self, table: pa.Table) -> object:
        return self.session.spark.createDataFrame(table)

    def check(self, scenario: Scenario) -> None:
        if any(pa.types.is_timestamp(field.type) and field.type.unit == "ns" for field in scenario.incoming.schema):
            pytest.skip("Spark has no nanoseconds")
        super().check(scenario)
