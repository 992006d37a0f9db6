"""What property tests share."""

from collections.abc import Iterator

import duckdb
import pytest


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """One DuckDB for all examples of a module: they replace each other's tables."""
    with duckdb.connect() as opened:
        yield opened
