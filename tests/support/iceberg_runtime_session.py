"""Run as a process of its own: Spark with Iceberg's runtime and the given settings runs statements, prints JSON rows.

A session with other jars cannot live beside the one that the other tests share.
"""

import json
import os
import sys
from typing import Any

from pyspark.sql import SparkSession

from lakebed.engines.spark.java import find_java

# Not SQL: `BY VALUE TABLE FORMAT COLUMN VALUE...` deletes the rows that have one of the values, as Flink does.
BY_VALUE = "BY VALUE "


def answer(spark: SparkSession, statement: str) -> list[dict[str, Any]]:
    if statement.startswith(BY_VALUE):
        delete_by_value(spark, *statement.removeprefix(BY_VALUE).split())
        return []
    return [row.asDict(recursive=True) for row in spark.sql(statement).collect()]


def delete_by_value(spark: SparkSession, name: str, format_: str, column: str, *values: str) -> None:
    """An equality delete file, written and committed by Iceberg's Java library: no SQL of Spark makes one."""
    java: Any = spark._jvm
    iceberg = java.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    names = java.java.util.ArrayList()
    names.add(column)
    compared = table.schema().select(names)
    number = table.schema().findField(column).fieldId()
    ids = java.java.util.ArrayList()
    ids.add(number)
    kind = getattr(iceberg.FileFormat, format_)
    place = iceberg.io.OutputFileFactory.builderFor(table, 1, 1).format(kind).build().newOutputFile()
    record = java.py4j.reflection.ReflectionUtil.classForName("org.apache.iceberg.data.Record")
    building = iceberg.formats.FormatModelRegistry.equalityDeleteWriteBuilder(kind, record, place)
    writer = building.schema(compared).spec(table.spec()).equalityFieldIds(ids).build()
    is_int = compared.findField(column).type().toString() == "int"
    for value in values:
        row = iceberg.data.GenericRecord.create(compared)
        row.setField(column, int(value) if is_int else value)
        writer.write(row)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    spark.sql(f"REFRESH TABLE {name}")


def main() -> None:
    request = json.load(sys.stdin)
    os.environ["JAVA_HOME"] = str(find_java().home)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
    for key, value in request["conf"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    results = [answer(spark, text) for text in request["statements"]]
    spark.stop()
    sys.stdout.write("RESULT" + json.dumps(results, default=str) + "\n")


if __name__ == "__main__":
    main()
