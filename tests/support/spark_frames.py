"""Arrow tables as Spark DataFrames of the same types."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The table; a time without a zone stays one, where Spark by itself would make a moment of it."""
    before = spark.conf.get("spark.sql.timestampType")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        return spark.createDataFrame(table)
    finally:
        spark.conf.set("spark.sql.timestampType", before)
