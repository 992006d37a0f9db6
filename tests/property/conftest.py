"""Hypothesis for the whole folder: no deadline, because two busy cores say nothing about our code."""

from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import settings

settings.register_profile("lakebed", deadline=None, database=None)
settings.load_profile("lakebed")


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """One DuckDB for all examples of a module: they replace each other's tables."""
    with duckdb.connect() as opened:
        yield opened
