"""A Structured Streaming query into a table of any kind, exactly once: `python stream.py SOURCE TARGET CHECKPOINT`.

SOURCE is a folder to which JSON files of events are added; the columns of the events may change from one to the next
run. Kill it at any moment and start it again: no event is lost, and none is in the table twice.
"""

import sys

from pyspark.sql import DataFrame, SparkSession

import lakebed


def main(source: str, target: str, checkpoint: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    events = spark.readStream.schema(spark.read.json(source).schema).option("maxFilesPerTrigger", 1).json(source)

    def write(batch: DataFrame, number: int) -> None:
        # Spark repeats the batch that a crash interrupted, under the same number; the table knows which it holds.
        lakebed.write(batch, target, txn=("events", number))

    query = (
        events.writeStream.foreachBatch(write)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
