"""Fixtures that tests of several folders share."""

import logging
import os
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lakebed.config import load_settings
from lakebed.engines.spark.session import Session, open_session
from tests.support import spark_cluster as cluster
from tests.support.s3_server import S3Server
from tests.support.s3_server import s3_server as start_s3_server

# No deadline and no complaint about slow examples: two busy cores say nothing about our code.
# Not derandomized, in CI neither: every run tries other examples, under a seed that it prints.
settings.register_profile(
    "lakebed", deadline=None, database=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("lakebed")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Chooses the seed of all property tests, where none was given.

    Where Python may keep no bytecode beside the source, it is kept in the virtual environment: tests start hundreds of
    processes, and each would spend seconds on compiling every package that it imports.
    """
    if config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))
    if sys.dont_write_bytecode:
        sys.pycache_prefix = str(Path(sys.prefix) / "pycache")
        sys.dont_write_bytecode = False
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """How to run the property tests on the same examples once more."""
    terminalreporter.write_line(f"property tests: --hypothesis-seed={config.getoption('hypothesis_seed')}")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One real S3 and Iceberg REST server for the whole run; tests isolate themselves with buckets."""
    with start_s3_server() as server:
        yield server


@pytest.fixture
def s3_bucket(s3_server: S3Server) -> str:
    """The address of a fresh bucket on it."""
    return s3_server.new_bucket()


@pytest.fixture(scope="session")
def spark_local() -> Iterator[Session]:
    """One local session for the whole run: a second one would cost five seconds and a JVM."""
    with open_session(load_settings({"master": "local[2]", "memory": "2g"})) as session:
        yield session


@pytest.fixture(scope="session")
def standalone_cluster() -> Iterator[cluster.Server]:
    """A master and two workers; drivers run in processes of their own (`standalone_cluster.run`)."""
    with cluster.standalone_cluster() as server:
        yield server


@pytest.fixture(scope="session")
def spark_connect() -> Iterator[cluster.Server]:
    """A Spark Connect server; clients run in processes of their own (`spark_connect.run`)."""
    with cluster.connect_server() as server:
        yield server


@pytest.fixture
def pyarrow_only(tmp_path: Path) -> Path:
    """A Python environment in which pyarrow is the only package."""
    folder = tmp_path / "worker"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    for name in ("pyarrow", "pyarrow.libs"):
        installed = Path(sysconfig.get_paths()["platlib"]) / name
        if installed.exists():
            (packages / name).symlink_to(installed)
    return folder / "bin" / "python"


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A command that a test runs in this process sets logging up; the next test begins as the library leaves it."""
    logger = logging.getLogger("lakebed")
    level, handlers = logger.level, logger.handlers[:]
    yield
    logger.setLevel(level)
    logger.handlers = handlers
