"""Samples, loaded once for all tests of this folder, without a JVM."""

import atexit
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.samples import SampleSpec, make_sample

TABLE = "report"


@dataclass(frozen=True)
class LoadedBill:
    """A table that a sample was loaded into, and the sample."""

    target: str
    truth: lakebed.SampleTruth
    workdir: Path


@cache
def load_bill(
    kind: lakebed.SampleKind = "cur", naming: str = "spec", target: str = "duckdb", *, rows: int = 1_500
) -> LoadedBill:
    """Two months, one of them restated, in a table of its own; it is there until the tests are over."""
    folder = Path(mkdtemp(prefix="lakebed-bill-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    truth = make_sample(folder / "bills", spec=SampleSpec(months=2, rows=rows, files=2, kind=kind))
    address = {"duckdb": f"duckdb:{folder}/costs.duckdb#{TABLE}", "parquet": f"parquet:{folder}/{TABLE}"}[target]
    with pytest.MonkeyPatch.context() as patch:
        use_arrow(patch)
        done = lakebed.run(
            folder / "bills", address, workdir=folder / "work", naming="athena" if naming == "athena" else "spec"
        )
    assert not done.failed, done
    return LoadedBill(address, truth, folder / "work")


def ask(bill: LoadedBill, query: str) -> list[tuple[object, ...]]:
    """A query to the DuckDB file of a bill."""
    import duckdb

    with duckdb.connect(bill.target.removeprefix("duckdb:").partition("#")[0], read_only=True) as connection:
        return connection.execute(query).fetchall()
