"""The Iceberg project's own REST catalog, from its test fixtures, on 127.0.0.1."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakebed.engines.spark.java import find_java
from tests.support import SUPPORT
from tests.support.strangers import jars

# With everything that it needs inside.
FIXTURE = "org.apache.iceberg:iceberg-open-api:1.10.1"


@contextlib.contextmanager
def rest_fixture(folder: Path, **properties: str) -> Iterator[str]:
    """The address of a running catalog that keeps its tables in this folder, or where the properties say.

    It takes any client of OAuth2, and with `include-credentials` hands out those that it has for the storage.
    """
    found = jars(FIXTURE)
    if isinstance(found, str):
        pytest.skip(found)
    folder.mkdir(parents=True, exist_ok=True)
    given = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{folder}/fixture.db",
        "jdbc.schema-version": "V1",
        "warehouse": f"file://{folder}/warehouse",
        **properties,
    }
    java = str(find_java().home / "bin" / "java")
    program = [java, "-cp", str(found[0]), str(SUPPORT / "LoopbackCatalog.java")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [*program, *(f"{key}={value}" for key, value in given.items())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        said = server.stdout.readline()
        if not said.startswith("PORT "):
            told = (folder / "log").read_text(errors="replace")[-2000:]
            if "error: compiler" in told or "jdk.compiler" in told:
                pytest.skip("this Java has no compiler, which the REST fixture's launcher needs")
            raise AssertionError(f"the REST fixture did not start:\n{told}")
        yield f"http://127.0.0.1:{said.split()[1]}"
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()
