"""Run as a process of its own: Spark with Iceberg's runtime and the given settings runs statements, prints JSON rows.

A session with other jars cannot live beside the one that the other tests share.
"""

import json
import os
import sys

from pyspark.sql import SparkSession

from lakebed.engines.spark.java import find_java


def main() -> None:
    request = json.load(sys.stdin)
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
    for key, value in request["conf"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    results = [[row.asDict(recursive=True) for row in spark.sql(text).collect()] for text in request["statements"]]
    spark.stop()
    sys.stdout.write("RESULT" + json.dumps(results, default=str) + "\n")


if __name__ == "__main__":
    main()
