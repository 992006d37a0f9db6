"""What bounds and partitions prove is true of the rows; sums equal Python's own decimals."""

import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import event, given, settings
from hypothesis import strategies as st

from lakebed.kernels.sums import exact_totals
from lakebed.kernels.values import EXACT
from lakebed.model import DataFile
from lakebed.storage import Storage
from lakebed.targets.parquet.partitions import NULL_PARTITION, is_data_file, partition_folder, partition_of
from lakebed.targets.shared.footers import match, with_bounds

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
values = st.none() | st.sampled_from(["a", "b", "ab", "ü", "z" * 70, "z" * 70 + "y", "", "\U0010ffff"])


@given(st.dictionaries(texts, st.none() | texts.filter(lambda text: text != NULL_PARTITION), min_size=1, max_size=3))
def test_partition_paths_round_trip(partition: dict[str, str | None]) -> None:
    folded = {name.casefold() for name in partition}
    if len(folded) < len(partition):
        return
    folder = partition_folder(list(partition), partition)
    assert folder.count("/") == len(partition) - 1
    assert partition_of(f"{folder}/a.parquet") == partition
    assert not any(part.startswith("/") or "/" in part for part in folder.split("/"))


@given(st.lists(values, max_size=6), st.lists(values, max_size=6), values, st.integers(1, 4))
@settings(max_examples=60)
def test_bounds_prove_only_what_is_true(
    first: list[str | None], second: list[str | None], wanted: str | None, group: int
) -> None:
    size = max(len(first), len(second))
    columns = {"a": first + [None] * (size - len(first)), "b": second + [None] * (size - len(second))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.parquet"
        pq.write_table(
            pa.table(columns, schema=pa.schema([("a", pa.string()), ("b", pa.string())])), path, row_group_size=group
        )
        (file,) = with_bounds([DataFile(str(path), size, 0)], Storage(), ["a", "b"])
    asked = {"a": wanted or "a", "b": "a"}
    hits = sum(row == (asked["a"], asked["b"]) for row in zip(columns["a"], columns["b"], strict=True))
    verdict = match(file, asked)
    if verdict == "all":
        assert hits == size
    if verdict == "none":
        assert hits == 0
    # Parquet shortens long text, which may leave a proof undone, but never an unproven one done.
    if size and all(len(text or "") < 64 for text in (*first, *second, wanted)):
        event(verdict)
        assert verdict == provable(columns, asked)


def provable(columns: dict[str, list[str | None]], asked: dict[str, str]) -> str:
    """What the smallest and the greatest value and the count of NULL can prove of a file with rows."""
    verdicts = []
    for name, value in asked.items():
        present = [text for text in columns[name] if text is not None]
        if not present or not min(present) <= value <= max(present):
            verdicts.append("none")
        elif len(present) == len(columns[name]) and min(present) == max(present):
            verdicts.append("all")
        else:
            verdicts.append("some")
    return next(verdict for verdict in ("none", "some", "all") if verdict in verdicts)


def test_bounds_prove_all_and_none() -> None:
    """And the three answers by hand, so that the property above cannot hold for want of examples."""

    def verdict(values: list[str | None]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "f.parquet"
            pq.write_table(pa.table({"a": pa.array(values, pa.string())}), path)
            (file,) = with_bounds([DataFile(str(path), len(values), 0)], Storage(), ["a"])
        return match(file, {"a": "m"})

    assert verdict(["m", "m"]) == "all"
    assert verdict(["m", None]) == verdict(["a", "z"]) == verdict(["m", "z"]) == "some"
    assert verdict(["a", "b"]) == verdict(["x", "z"]) == verdict([None, None]) == "none"


@given(
    st.lists(
        st.tuples(
            st.none() | st.decimals(min_value=-(10**20) + 1, max_value=10**20 - 1, places=18, allow_nan=False),
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.sampled_from([None, "USD", "EUR"]),
        ),
        max_size=30,
    ),
    st.integers(1, 7),
)
def test_sums_are_those_of_python(data: list[tuple[Decimal | None, int | None, str | None]], batch: int) -> None:
    table = pa.table(
        {
            "cost": pa.array([row[0] for row in data], pa.decimal128(38, 18)),
            "count": pa.array([row[1] for row in data], pa.int64()),
            "currency": pa.array([row[2] for row in data], pa.string()),
        }
    )
    found = exact_totals(table.to_batches(max_chunksize=batch), ["cost", "count"], currency="currency")
    assert found.rows == len(data)
    assert found.sums["count"] == sum(row[1] or 0 for row in data)
    expected = Decimal(0)
    for cost, _, _ in data:
        expected = EXACT.add(expected, cost or Decimal(0))
    assert found.sums["cost"] == expected
    assert set(found.by_currency) == {row[2] or "" for row in data}
    parts = Decimal(0)
    for sums in found.by_currency.values():
        parts = EXACT.add(parts, sums["cost"])
    assert parts == expected


def test_what_counts_as_data() -> None:
    assert is_data_file("a.parquet")
    assert is_data_file("_p=1/x.PARQUET")
    assert not any(
        map(is_data_file, ["_a.parquet", ".a.parquet", "_t/a.parquet", ".t/a.parquet", "a.parquet.tmp", "a.csv"])
    )
