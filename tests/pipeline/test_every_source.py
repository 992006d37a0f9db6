"""Every kind of source, as our samples make them, through the whole pipeline. Real files: test_real_files.py."""

from pathlib import Path

import duckdb
import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.samples import SampleSpec, make_sample

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def column_names(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    """Original name -> name in the table, as the table's own comments tell it."""
    rows = connection.execute(
        "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = ?", [table]
    ).fetchall()
    return {original or name: name for name, original in rows}


@pytest.mark.parametrize(
    "spec",
    [
        SampleSpec(format="zip", typed=False),
        SampleSpec(format="parquet"),
        SampleSpec(layout="overwrite", ids="uuid", prefix=""),
        SampleSpec(kind="cur2"),
        SampleSpec(kind="cur2", format="parquet", layout="overwrite"),
        SampleSpec(kind="focus", typed=False),
        SampleSpec(kind="focus", format="parquet"),
    ],
    ids=lambda spec: f"{spec.kind}-{spec.format}-{spec.layout}{'' if spec.typed else '-untyped'}",
)
def test_made_deliveries(tmp_path: Path, spark_local: Session, spec: SampleSpec) -> None:
    truth = make_sample(tmp_path / "bucket", months=2, rows=150, columns=80, spec=spec)
    report = lakebed.run(str(tmp_path / "bucket"), f"duckdb:{tmp_path / 'bill.duckdb'}", spark=spark_local.spark)
    assert [(one.period, one.delivery) for one in report.deliveries] == [
        (made.period, made.delivery) for made in reversed(truth.current)
    ]
    assert all(one.state == "loaded" and one.reconciled and one.complete for one in report.deliveries)
    with duckdb.connect(tmp_path / "bill.duckdb", read_only=True) as connection:
        names = column_names(connection, "sample_report")
        for made in truth.current:
            # Without types only what the dictionary knows is a number; text is compared as text elsewhere.
            known = {name: total for name, total in made.totals.sums.items() if spec.typed or "Edp" not in name}
            sums = ", ".join(f'coalesce(sum("{names[original]}"), 0)' for original in known)
            found = connection.execute(
                f"SELECT count(*), {sums} FROM sample_report WHERE lakebed_period = ?", [made.period]
            ).fetchone()
            assert found == (made.totals.rows, *known.values())
