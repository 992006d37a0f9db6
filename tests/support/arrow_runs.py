"""Runs of the pipeline in this process without a JVM: the Arrow engine has the same kernels."""

from typing import TYPE_CHECKING, cast

import pytest

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.spark.session import Session
from lakebed.pipeline.context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def use_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of Spark, until the test is over."""
    session = Session(cast("SparkSession", None), "this process", local=True, owned=False)
    monkeypatch.setattr(RunContext, "engine", property(lambda self: ArrowEngine(self.storage.settings)))
    monkeypatch.setattr(RunContext, "session", property(lambda self: session))
