"""Runs of the pipeline without a JVM: the Arrow engine, which has the same kernels, in Spark's place."""

from typing import TYPE_CHECKING, cast

import pytest

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import Engine
from lakebed.engines.spark.session import Session
from lakebed.pipeline.context import RunContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def use_arrow(monkeypatch: pytest.MonkeyPatch | None = None) -> None:
    """In place of Spark: until the test is over, or in a program of its own for good."""
    patch = monkeypatch or pytest.MonkeyPatch()
    patch.setattr(RunContext, "engine", property(_engine))
    patch.setattr(RunContext, "session", property(_session))


def _engine(context: RunContext) -> Engine:
    return ArrowEngine(context.storage.settings)


def _session(_: RunContext) -> Session:
    return Session(cast("SparkSession", None), "this process", local=True, owned=False)
