"""A bill of thousands of columns takes no more steps a column than an ordinary one."""

from pathlib import Path

import pytest
from tests.support.arrow_runs import use_arrow
from tests.support.steps import count_steps

import lakebed

FEW, MANY = 250, 2_500


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "iceberg"])
def test_steps_a_column_do_not_grow_with_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    use_arrow(monkeypatch)

    def load(columns: int, place: Path) -> int:
        place.mkdir()
        names = [
            "bill/PayerAccountId",
            "lineItem/UnblendedCost",
            *(f"resourceTags/user:{n}" for n in range(columns - 2)),
        ]
        row = ",".join(["012345678901", "0.5", *(["value"] * (columns - 2))])
        (place / "bill.csv").write_text("\n".join([",".join(names), row, row]) + "\n")
        target = "iceberg:costs" if kind == "iceberg" else f"{kind}:{place / 'costs'}"

        def run() -> None:
            done = lakebed.run(place / "bill.csv", target, report="wide", period="2026-10", workdir=place / "work")
            assert (done.failed, done.rows) == ((), 2)

        return count_steps(run)

    load(3, tmp_path / "first")  # imports everything
    few, many = load(FEW, tmp_path / "few") / FEW, load(MANY, tmp_path / "many") / MANY
    assert many <= 3 * few
