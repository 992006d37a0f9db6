"""Where Spark finds the data source `lakebed` by itself: it looks for packages of this prefix."""

from pyspark_lakebed.source import LakebedSource as DefaultSource

__all__ = ["DefaultSource"]
