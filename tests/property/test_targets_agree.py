"""Whatever months arrive in whatever order, Parquet and DuckDB hold what a plain list of rows would."""

import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DELIVERY, PERIOD, Slice
from lakebed.schema.types import Column, DataType, Integer, Text
from lakebed.schema.types import Decimal as DecimalType
from lakebed.targets.base import Target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import BASE, Loader, contents

EXTRA: tuple[tuple[str, DataType, object], ...] = (
    ("tag", Text(), "x"),
    ("quantity", Integer(32), 7),
    ("quantity", Integer(64), 2**40),
    ("rate", DecimalType(9, 2), Decimal("1.25")),
    ("rate", DecimalType(18, 4), Decimal("1.2525")),
)


@dataclass(frozen=True)
class Arrival:
    """One delivery: whose, how many rows, with which further columns, and whether it replaces."""

    slice: Slice
    rows: int
    extra: tuple[int, ...]
    replaces: bool


arrivals = st.builds(
    Arrival,
    slice=st.builds(
        Slice, payer=st.sampled_from(["p", "q"]), report=st.just("r"), period=st.sampled_from(["2026-10", "2026-11"])
    ),
    rows=st.integers(0, 3),
    extra=st.sampled_from([(), (0,), (1,), (2,), (3,), (4,), (0, 1), (2, 4)]),
    replaces=st.booleans(),
)


@given(st.lists(arrivals, min_size=1, max_size=5))
@settings(max_examples=8)
def test_targets_agree_with_a_list_of_rows(months: list[Arrival]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        targets: list[tuple[Target, tuple[str, ...]]] = [
            (ParquetTarget(str(Path(folder) / "plain")), ()),
            (ParquetTarget(str(Path(folder) / "hive")), (PERIOD,)),
            (DuckDBTarget(str(Path(folder) / "lake.duckdb"), "t"), ()),
        ]
        truth: list[dict[str, object]] = []
        names = set(BASE.names)
        for number, month in enumerate(months):
            more = [EXTRA[index] for index in month.extra]
            schema = BASE.with_columns(Column(name, type_) for name, type_, _ in more)
            data: list[dict[str, object]] = [
                {
                    "id": number * 10 + row,
                    "cost": Decimal(row),
                    "currency": "USD",
                    **month.slice.values,
                    DELIVERY: str(number),
                    **{name: value for name, _, value in more},
                }
                for row in range(month.rows)
            ]
            names |= set(schema.names)
            if month.replaces:
                truth = [row for row in truth if any(row[key] != value for key, value in month.slice.values.items())]
            truth += data
            for target, partition_by in targets:
                commit = Loader(target, StorageSettings(), partition_by).load(
                    data, schema=schema, replacing=month.slice if month.replaces else None
                )
                assert commit.rows == len(truth)
        for target, _ in targets:
            assert set(target.state().schema.names) == names
            assert contents(target) == [{name: row.get(name) for name in _order(target)} for row in truth]
            assert target.totals(None, ["id"]).sums == {"id": sum(int(str(row["id"])) for row in truth)}


def _order(target: Target) -> tuple[str, ...]:
    return target.state().schema.names
