"""What the Spark engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts

FACTS = EngineFacts(
    "spark", merge="lakebed.engines.spark.merge:SparkMerge", reads_dataframes=True, runs_in_session=True
)
