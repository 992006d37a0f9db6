"""What the Spark engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts
from lakebed.extras import Extra

OLDEST = "4.0"
OLDER_LACK = "Spark 3.5 has no DataFrame.toArrow, no tags in classic sessions and no Python data sources"
FACTS = EngineFacts(
    "spark",
    merge="lakebed.engines.spark.merge:SparkMerge",
    rows="lakebed.engines.spark.rows:SparkRows",
    reads_dataframes=True,
    runs_in_session=True,
    # Spark's Arrow functions want pandas on the driver, and pyspark does not bring it.
    extra=Extra("spark", ("pyspark", "pandas"), oldest=(("pyspark", OLDEST, OLDER_LACK),)),
)
# What a session besides needs that talks to a server.
CONNECT = Extra("connect", ("grpc", "grpc_status"))
