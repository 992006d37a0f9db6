"""What the Spark engine declares of itself."""

from lakebed.engines.protocols.engine import EngineFacts
from lakebed.extras import Extra

FACTS = EngineFacts(
    "spark",
    merge="lakebed.engines.spark.merge:SparkMerge",
    rows="lakebed.engines.spark.rows:SparkRows",
    reads_dataframes=True,
    runs_in_session=True,
    # Spark's Arrow functions want pandas on the driver, and pyspark does not bring it.
    extra=Extra("spark", ("pyspark", "pandas")),
)
# What a session besides needs that talks to a server.
CONNECT = Extra("connect", ("grpc", "grpc_status"))
