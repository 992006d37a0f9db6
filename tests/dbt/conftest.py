"""One process with dbt in it for all tests of a worker."""

from collections.abc import Iterator

import pytest
from tests.support.dbt_env import DbtProcess


@pytest.fixture(scope="session")
def dbt() -> Iterator[DbtProcess]:
    process = DbtProcess()
    yield process
    process.close()
