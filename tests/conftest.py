"""Fixtures that tests of several folders share."""

from collections.abc import Iterator

import pytest

from lakebed.testing.server import S3Server
from lakebed.testing.server import s3_server as start_s3_server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One real S3 and Iceberg REST server for the whole run; tests isolate themselves with buckets."""
    with start_s3_server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: S3Server) -> str:
    """The address of a fresh bucket on it."""
    return s3_server.new_bucket()
