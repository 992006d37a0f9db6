"""Writing Parquet, facts on the way, and Parquet as a source."""

import io
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.conversions import EXACT, MOMENT, TAGS, TEXT, column, run

from lakebed.errors import BadValue, SourceError, UnplannedColumns
from lakebed.kernels import parquet
from lakebed.kernels.facts import exact_sum
from lakebed.kernels.parquet import ParquetOutput
from lakebed.kernels.rewrite import rewrite
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Bounds, DataFile, Rounding, Staging


def as_parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def staging(folder: Path, schema: pa.Schema) -> Staging:
    return Staging("test", str(folder), schema)


def test_field_metadata_is_in_the_file(tmp_path: Path) -> None:
    metadata = {"PARQUET:field_id": "7", "lakebed.original": "lineItem/Cost"}
    schema = pa.schema([pa.field("cost", EXACT, metadata=metadata)])
    output = ParquetOutput(
        staging(tmp_path, schema), StorageSettings(), name="x", partition={"period": "2026-10", "who": None}
    )
    output.write(pa.table([pa.array([Decimal(1)], EXACT)], schema=schema))
    (written,) = output.close()
    assert written.path.startswith("period=2026-10/who=__HIVE_DEFAULT_PARTITION__/part-x-")
    read = pq.ParquetFile(tmp_path / written.path)
    assert read.schema_arrow.field("cost").metadata == {key.encode(): text.encode() for key, text in metadata.items()}
    assert (written.rows, written.size_bytes) == (1, (tmp_path / written.path).stat().st_size)


def test_bounds_come_from_the_writer(tmp_path: Path) -> None:
    data = "t,d,at,none\nb,2.5,2026-10-02T00:00:00Z,\na,,2026-10-01T00:00:00Z,\n"
    facts, _ = run(tmp_path, data, [("t", TEXT), ("d", EXACT), ("at", MOMENT), ("none", TEXT)])
    assert facts.files[0].bounds == {
        "t": Bounds("a", "b", 0),
        "d": Bounds(Decimal("2.5"), Decimal("2.5"), 1),
        "at": Bounds(datetime(2026, 10, 1), datetime(2026, 10, 2), 0),
        "none": Bounds(None, None, 2),
    }


def test_large_outputs_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(parquet, "FILE_BYTES", 1)
    schema = pa.schema([("n", pa.int64())])
    output = ParquetOutput(staging(tmp_path, schema), StorageSettings(), name="x", partition={})
    for number in range(3):
        output.write(pa.table([pa.array([number])], schema=schema))
    files = output.close()
    assert [file.rows for file in files] == [1, 1, 1]
    assert len({file.path for file in files}) == 3


def test_attempts_of_one_task_never_share_a_path(tmp_path: Path) -> None:
    first, _ = run(tmp_path, "a,b\n1,2\n", [("a", TEXT), ("b", TEXT)])
    second, _ = run(tmp_path, "a,b\n1,2\n", [("a", TEXT), ("b", TEXT)])
    assert first.files[0].path != second.files[0].path


def test_sums_by_currency_and_without_one(tmp_path: Path) -> None:
    data = "cost,code\n1.5,USD\n2,EUR\n-0.25,USD\n,EUR\n4,\n"
    facts, _ = run(tmp_path, data, [("cost", EXACT), ("code", TEXT)], currency="code")
    assert facts.source.sums == {"cost": Decimal("7.25")}
    assert facts.source.by_currency == {
        "USD": {"cost": Decimal("1.25")},
        "EUR": {"cost": Decimal(2)},
        "": {"cost": Decimal(4)},
    }


def test_sums_do_not_wrap_around() -> None:
    largest = Decimal("99999999999999999999.999999999999999999")
    column = pa.chunked_array([pa.array([largest] * 5, EXACT), pa.array([None, largest], EXACT)])
    assert exact_sum(column) == Decimal("599999999999999999999.999999999999999994")
    assert exact_sum(pa.chunked_array([pa.array([None], EXACT)])) == 0


def test_a_narrower_type_rounds_half_away_from_zero_and_says_what_it_cost(tmp_path: Path) -> None:
    data = "cost,x\n0.005,\n-0.005,\n0.0149999,\n1.25,\n,\n2.675,\n"
    facts, table = run(tmp_path, data, [("cost", pa.decimal128(18, 2)), ("x", TEXT)])
    expected = [Decimal(text) for text in ("0.01", "-0.01", "0.01", "1.25")]
    assert column(table, "cost") == [*expected, None, Decimal("2.68")]
    assert facts.source.sums["cost"] == Decimal("3.9399999")
    assert facts.rounding == {"cost": Rounding(4, Decimal("0.0000001"))}


def test_a_narrower_type_that_cannot_hold_the_number_refuses_it(tmp_path: Path) -> None:
    narrow = [("cost", pa.decimal128(18, 2)), ("x", TEXT)]
    for text in ("9" * 17, "9" * 16 + ".995", "-" + "9" * 16 + ".995", "1E+19"):
        with pytest.raises(BadValue, match="--decimals") as refused:
            run(tmp_path, f"cost,x\n1,\n{text},\n", narrow)
        assert (refused.value.line, refused.value.value) == (3, text)
        assert "16 digits before the point" in refused.value.expected
    _, table = run(tmp_path, f"cost,x\n{'9' * 16}.9949,\n", narrow)
    assert column(table, "cost") == [Decimal("9" * 16 + ".99")]


def test_a_decimal_of_more_whole_digits_is_never_wrapped_around(tmp_path: Path) -> None:
    raw = as_parquet(pa.table({"cost": pa.array([Decimal(1), Decimal(4 * 10**20)], pa.decimal128(38, 0))}))
    with pytest.raises(BadValue) as refused:
        run(tmp_path, b"", [("cost", EXACT)], content="parquet", raw=raw)
    assert (refused.value.line, refused.value.value) == (2, "400000000000000000000")


def test_doubles_go_through_their_shortest_text(tmp_path: Path) -> None:
    numbers = [0.1, 4e-07, 1e3, None, -2.675, 1e-18]
    source = pa.table({"cost": pa.array(numbers, pa.float64()), "n": pa.array(range(6), pa.int32())})
    facts, table = run(tmp_path, b"", [("cost", EXACT), ("n", EXACT)], content="parquet", raw=as_parquet(source))
    assert column(table, "cost") == [None if number is None else Decimal(repr(number)) for number in numbers]
    assert facts.source.sums == {"cost": Decimal("997.425000400000000001"), "n": Decimal(15)}


def test_parquet_times_maps_and_texts(tmp_path: Path) -> None:
    at = datetime(2026, 10, 1, 5, tzinfo=UTC)
    source = pa.table(
        {
            "at": pa.array([at], pa.timestamp("ms", "Europe/Berlin")),
            "tags": pa.array([[("a", "b")]], TAGS),
            "account": pa.array(["007"], pa.large_string()),
        }
    )
    columns = [("account", TEXT), ("at", MOMENT), ("tags", TAGS)]
    _, table = run(tmp_path, b"", columns, content="parquet", raw=as_parquet(source))
    assert table.to_pylist() == [{"account": "007", "at": at.replace(tzinfo=None), "tags": [("a", "b")]}]


def test_parquet_values_that_do_not_fit_are_refused_or_kept_out(tmp_path: Path) -> None:
    raw = as_parquet(pa.table({"cost": [1.5, 1e-19, float("nan")], "id": ["a", "b", "c"]}))
    columns = [("cost", EXACT), ("id", TEXT)]
    with pytest.raises(BadValue) as refused:
        run(tmp_path, b"", columns, content="parquet", raw=raw)
    assert (refused.value.line, refused.value.column, refused.value.value) == (2, "cost", "1e-19")
    facts, table = run(tmp_path, b"", columns, content="parquet", raw=raw, quarantine=True)
    assert column(table, "id") == ["a"]
    assert facts.rejected_rows == 2
    side = pq.read_table(tmp_path / "out" / facts.rejected_files[0].path)
    assert column(side, "cost") == ["1e-19", "nan"]


def test_parquet_that_is_none_and_unplanned_columns(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"report-1\.csv: not readable as Parquet"):
        run(tmp_path, b"", [("a", TEXT)], content="parquet", raw=b"PAR1 or not")
    with pytest.raises(UnplannedColumns, match="new"):
        run(tmp_path, b"", [("a", TEXT)], content="parquet", raw=as_parquet(pa.table({"a": ["x"], "new": ["y"]})))


def test_rewriting_casts_pads_and_leaves_out_a_slice(tmp_path: Path) -> None:
    old = tmp_path / "old.parquet"
    pq.write_table(
        pa.table({"payer": ["1", "1", None], "n": pa.array([1, 2, 3], pa.int32()), "r": ["x", "y", "x"]}), old
    )
    schema = pa.schema([("payer", TEXT), ("n", pa.int64()), ("r", TEXT), ("new", EXACT), ("period", TEXT)])
    place, storage = staging(tmp_path / "out", schema), StorageSettings()
    existing = DataFile(str(old), 3, old.stat().st_size, {"period": "2026-10"})
    slice_ = {"payer": "1", "r": "x", "period": "2026-10"}
    (output,) = rewrite(place, storage, existing, "0", slice_)
    rows = pq.read_table(tmp_path / "out" / output.path, partitioning=None)
    assert rows.schema.equals(schema)
    assert [(row["n"], row["period"], row["new"]) for row in rows.to_pylist()] == [
        (2, "2026-10", None),
        (3, "2026-10", None),
    ]
    (everything,) = rewrite(place, storage, existing, "1", {**slice_, "period": "2026-09"})
    assert everything.rows == 3
    assert rewrite(place, storage, existing, "2", {"period": "2026-10"}) == ()
