"""Types through a merge: what a format lacks is refused by name, and what it has stays what it is, in every file."""

import math
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.protocols.engine import EngineName
from lakebed.errors import DatasetMergeError
from lakebed.targets.parquet.target import ParquetTarget

OLD = pa.table(
    {"id": range(40), "s": [{"a": number} for number in range(40)], "l": [[{"x": number}] for number in range(40)]}
)
WIDER = pa.table({"id": [3], "s": pa.array([{"b": "new", "a": 300}]), "l": pa.array([[{"x": 3, "y": 1.5}]])})


def written(folder: Path, table: pa.Table, files: int) -> None:
    folder.mkdir()
    each = table.num_rows // files
    for number in range(files):
        pq.write_table(table.slice(number * each, each), folder / f"part-{number:02d}.parquet")


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_struct_that_gains_a_field_has_it_in_every_file(engine: EngineName, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    written(folder, OLD, 10)
    # A file without the column needs none of it.
    pq.write_table(pa.table({"id": [100]}), folder / "part-99.parquet")
    done = lakebed.merge(WIDER, str(folder), keys="id", engine=engine)
    assert set(done.added_columns) == {"s.b", "l.element.y"}
    schemas = [pq.read_schema(path) for path in folder.glob("*.parquet")]
    assert {schema.field("s").type for schema in schemas if "s" in schema.names} == {
        pa.struct([("a", pa.int64()), ("b", pa.string())])
    }
    assert sum("s" not in schema.names for schema in schemas) == 1
    # Readers that take the first file's word for all of them.
    assert pl.read_parquet(folder / "*.parquet", missing_columns="insert").height == 41
    first = sorted(folder.glob("*.parquet"))[0]
    assert pads.dataset(folder, format="parquet").schema.field("s").type.num_fields == 2
    assert "b" in duckdb.sql(f"SELECT s.b FROM read_parquet(['{first}', '{folder}/*.parquet'])").columns


def test_a_schema_change_alone_rewrites_them_too(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    written(folder, OLD, 4)
    lakebed.evolve(str(folder), WIDER.schema, workdir=tmp_path / "w")
    assert all(pq.read_schema(path).field("s").type.num_fields == 2 for path in folder.glob("*.parquet"))
    found = ParquetTarget(str(folder)).read().to_table().sort_by("id")
    assert found.column("s").to_pylist()[5] == {"a": 5, "b": None}


@pytest.mark.parametrize("use_merge", [True, False])
@pytest.mark.parametrize("rows", [4, 5_000])
def test_negative_zeros_stay(rows: int, use_merge: bool, tmp_path: Path) -> None:
    """DuckDB's dictionaries know one zero only, and a row more or less decides which."""
    zeros = [(0.0, -0.0)[number % 2] for number in range(rows)]
    table = pa.table(
        {
            "id": range(rows),
            "f": zeros,
            "f32": pa.array(zeros, pa.float32()),
            "s": [{"x": zero} for zero in zeros],
            "l": [[zero, 1.0] for zero in zeros],
            "m": pa.array([[("k", zero)] for zero in zeros], pa.map_(pa.string(), pa.float64())),
        }
    )
    for one in (table, table.select(["id", "f"]), table.select(["id", "l"])):
        folder = str(tmp_path / f"t{one.num_columns}{one.column_names[1]}")
        for part in (one, one.slice(0, 3)):
            lakebed.merge(part, folder, keys="id", engine=DuckDBMerge(use_merge=use_merge))
        found = ParquetTarget(folder).read().to_table().sort_by("id")
        for name in one.column_names[1:]:
            assert signs(found.column(name)) == signs(table.column(name)), name


def signs(values: pa.ChunkedArray) -> list[float]:
    return [math.copysign(1, _number(value)) for value in values.to_pylist()]


def _number(value: object) -> float:
    match value:
        case {"x": inner} | [(_, inner)] | [inner, _]:
            return float(inner)
    assert isinstance(value, float)
    return value


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pa.array([1_000_000_001], pa.time64("ns")), "time(ns)"),
        (pa.array([1], pa.timestamp("ns", "UTC")), "timestamp(ns, UTC)"),
        (pa.array([{"t": 1}], pa.struct([("t", pa.time64("ns"))])), "time(ns)"),
        (pa.array([{}], pa.struct([])), "struct<>"),
    ],
)
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_what_duckdb_cannot_hold_is_refused_by_name(
    engine: EngineName, existing: bool, column: pa.Array, shown: str, tmp_path: Path
) -> None:
    place = f"duckdb:{tmp_path}/d.duckdb#t"
    if existing:
        lakebed.merge(pa.table({"id": [1]}), place, keys="id")
    with pytest.raises(DatasetMergeError) as caught:
        lakebed.merge(pa.table({"id": [1], "odd": column}), place, keys="id", engine=engine)
    assert caught.value.kind == "SCHEMA_INCOMPATIBLE"
    assert caught.value.column is not None
    assert caught.value.column.startswith("odd")
    assert shown in caught.value.message


def test_an_error_of_duckdb_is_no_conflict(tmp_path: Path) -> None:
    """Whatever fails in the transaction is what is said, and not that the transaction was then aborted."""
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v BIGINT CHECK (v < 10))")
    with pytest.raises(lakebed.LakebedError, match="CHECK constraint") as caught:
        lakebed.merge(pa.table({"id": [1], "v": [11]}), f"duckdb:{tmp_path}/d.duckdb#t", keys="id")
    assert getattr(caught.value, "kind", None) != "CONCURRENT_MODIFICATION"


@pytest.mark.parametrize("columns", [{"f": pa.array([1.5, 2.5])}, {"t": pa.array([1, 2], pa.time64("ns"))}])
def test_merge_demanded_is_not_done_by_arrow(columns: dict[str, pa.Array], tmp_path: Path) -> None:
    table = pa.table({**columns, "id": [1, 2]})
    key = next(iter(columns))
    for _ in range(2):
        with pytest.raises(DatasetMergeError) as caught:
            lakebed.merge(table, str(tmp_path / "t"), keys=key, use_merge=True)
        assert caught.value.kind == "MERGE_UNAVAILABLE"
        assert "Arrow" in (caught.value.remedy or "")
    assert lakebed.merge(table, str(tmp_path / "t"), keys=key).inserted == 2


def test_merge_demanded_of_a_duckdb_table_is_done_whatever_the_keys(tmp_path: Path) -> None:
    place = f"duckdb:{tmp_path}/d.duckdb#t"
    table = pa.table({"f": [1.5, float("nan"), -0.0], "merge_action": ["x", "y", "z"]})
    assert lakebed.merge(table, place, keys="f", use_merge=True).inserted == 3
    changed = pa.table({"f": [float("nan"), 0.0, 9.0], "merge_action": ["Y", "Z", "n"]})
    done = lakebed.merge(changed, place, keys="f", use_merge=True)
    assert (done.inserted, done.updated, done.total) == (1, 2, 4)


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_table_of_partition_columns_alone_is_refused(engine: EngineName, tmp_path: Path) -> None:
    """A Parquet file without columns has no rows: they would all be lost."""
    with pytest.raises(DatasetMergeError, match="partitioned by all of its columns") as caught:
        lakebed.merge(pa.table({"p": ["a", "b"]}), str(tmp_path / "t"), keys="p", partition_by="p", engine=engine)
    assert caught.value.kind == "SCHEMA_INCOMPATIBLE"
    assert not (tmp_path / "t").exists()
