"""Spark through PySpark: a laptop, a cluster, Spark Connect."""
