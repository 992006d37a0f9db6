"""What people have in their hands: each kind of source merges as the same rows in a pyarrow Table would."""

import gzip
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from tests.support.s3_server import S3Server

import lakebed
from lakebed.engines.protocols.engine import EngineName
from lakebed.errors import BadValue, DatasetMergeError, NotFound, SourceError
from lakebed.storage import Storage, join
from lakebed.testing.rows import difference

OLD = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "cost": pa.array([Decimal("1.10"), Decimal("2.20")], pa.decimal128(9, 2)),
        "at": pa.array([datetime(2026, 1, 1), datetime(2026, 1, 2)], pa.timestamp("us")),
        "name": pa.array(["a", "b"], pa.string()),
    }
)
NEW = pa.table(
    {
        "id": pa.array([2, 3], pa.int64()),
        "cost": pa.array([Decimal("2.21"), Decimal("-0.05")], pa.decimal128(9, 2)),
        "at": pa.array([datetime(2026, 2, 2, 3, 4, 5), None], pa.timestamp("us")),
        "name": pa.array(["B", 'ü, "x"'], pa.string()),
    }
)
AFTER = pa.concat_tables([OLD.slice(0, 1), NEW])
ROWS = NEW.to_pylist()


def generator(items: list[Any]) -> Iterator[Any]:
    yield from items


def written(folder: Path, kind: str, table: pa.Table = NEW) -> Path:
    path = folder / f"new.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind in ("arrow", "feather"):
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "arrows":
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    elif kind.startswith("csv"):
        pacsv.write_csv(table, path.with_suffix("") if kind == "csv.gz" else path)
    else:
        rows = [{**row, "cost": float(row["cost"]), "at": row["at"] and str(row["at"])} for row in table.to_pylist()]
        text = json.dumps(rows, indent=1) if kind == "json" else "\n".join(map(json.dumps, rows))
        (path.with_suffix("") if kind.endswith(".gz") else path).write_text(text)
    if kind.endswith(".gz"):
        plain = path.with_suffix("")
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    return path


SOURCES: dict[str, Callable[[], Any]] = {
    "rows": lambda: ROWS,
    "rows that lack columns": lambda: [ROWS[0], {k: v for k, v in ROWS[1].items() if v is not None}],
    "columns": lambda: {name: NEW.column(name).to_pylist() for name in NEW.column_names},
    "arrays": lambda: {name: NEW.column(name) for name in NEW.column_names},
    "tables": lambda: [NEW.slice(0, 1), NEW.slice(1)],
    "batches": lambda: NEW.to_batches(max_chunksize=1),
    "batch": lambda: NEW.combine_chunks().to_batches()[0],
    "reader": lambda: NEW.to_reader(max_chunksize=1),
    "generator of batches": lambda: generator(NEW.to_batches(max_chunksize=1)),
    "generator of tables": lambda: generator([NEW.slice(0, 1), NEW.slice(1).select(["name", "id", "at", "cost"])]),
    "generator of rows": lambda: generator(ROWS),
    "dataset": lambda: pads.dataset(NEW),
    "polars": lambda: pl.from_arrow(NEW),
    "lazy polars": lambda: pl.from_arrow(NEW).lazy(),
    "pandas": lambda: NEW.to_pandas(types_mapper=None).convert_dtypes(dtype_backend="pyarrow"),
    "relation": lambda: duckdb.from_arrow(NEW),
}


@pytest.fixture
def place(tmp_path: Path) -> str:
    folder = str(tmp_path / "t")
    lakebed.merge(OLD, folder, keys="id", engine="arrow")
    return folder


def check(source: Any, place: str, engine: EngineName, **options: Any) -> None:
    done = lakebed.merge(source, place, keys="id", engine=engine, **options)
    assert (done.inserted, done.updated) == (1, 1)
    assert done.source_rows == 2
    found = lakebed.read(place) if not options else None
    if found is not None:
        assert difference(found.to_table(), AFTER) is None  # type: ignore[union-attr]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("kind", SOURCES)
def test_rows_in_memory(kind: str, engine: EngineName, place: str) -> None:
    check(SOURCES[kind](), place, engine)


KINDS = ["parquet", "arrow", "feather", "arrows", "csv", "csv.gz", "json", "jsonl", "jsonl.gz", "ndjson"]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("kind", KINDS)
def test_files(kind: str, engine: EngineName, place: str, tmp_path: Path) -> None:
    check(str(written(tmp_path, kind)), place, engine)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
@pytest.mark.parametrize("form", ["folder", "pattern", "deep pattern", "list"])
def test_several_files(kind: str, form: str, place: str, tmp_path: Path) -> None:
    for number, part in enumerate([NEW.slice(0, 1), NEW.slice(1)]):
        (tmp_path / "in" / f"d{number}").mkdir(parents=True)
        written(tmp_path / "in" / f"d{number}", kind, part)
    source: Any = {
        "folder": tmp_path / "in",
        "pattern": f"{tmp_path}/in/d[0-9]/*.{kind}",
        "deep pattern": f"{tmp_path}/in/**/n?w.*",
        "list": [tmp_path / "in" / "d0" / f"new.{kind}", f"{tmp_path}/in/d1"],
    }[form]
    check(source, place, "arrow")


def test_the_table_says_what_text_means(place: str, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("ID,cost,extra\n2,1e1,007\n3,,\n")
    done = lakebed.merge(path, place, keys="id")
    assert done.added_columns == ("extra",)
    found = lakebed.read(place).to_table().sort_by("id").to_pylist()  # type: ignore[union-attr]
    assert [(row["cost"], row["extra"], row["name"]) for row in found] == [
        (Decimal("1.10"), None, "a"),
        (Decimal("10.00"), "007", "b"),
        (None, None, None),
    ]


def test_columns_that_json_lacks_are_kept(place: str, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"id": 2, "cost": 123.45}\n\n{"id": 1, "deep": {"a": [1, 2.5]}, "flag": true}\n')
    lakebed.merge(path, place, keys="id")
    found = lakebed.read(place).to_table().sort_by("id").to_pylist()  # type: ignore[union-attr]
    assert [(row["name"], row["cost"], row["deep"], row["flag"]) for row in found] == [
        ("a", None, {"a": [1.0, 2.5]}, True),
        ("b", Decimal("123.45"), None, None),
    ]


@pytest.mark.parametrize(
    ("name", "text", "line", "column"),
    [
        ("x.csv", "id,cost\n2,1.5\n3,lots\n", 3, "cost"),
        ("x.jsonl", '{"id": 2, "cost": 1}\n{"id": "three"}\n', 2, "id"),
        ("x.json", '[{"id": 2, "at": "yesterday"}]', 1, "at"),
    ],
)
def test_a_value_that_does_not_fit_is_named(
    name: str, text: str, line: int, column: str, place: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadValue) as caught:
        lakebed.merge(tmp_path / name, place, keys="id")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert difference(lakebed.read(place).to_table(), OLD) is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.csv", "id,cost\n2,1.234\n", "more digits than decimal128"),
        ("x.csv", "id,cost\n2\n", "a row of 2 fields"),
        ("x.jsonl", '{"id": 2}\n{"id": ', "line 2: not JSON"),
        ("x.jsonl", '{"id": 2}\n[3]\n', "line 2: a row is an object"),
        ("x.jsonl", '{"id": 2, "n": 1}\n{"id": 3, "n": "x"}\n', "column n: a value is not int64"),
        ("x.arrow", "no arrow at all", "not readable as arrow"),
    ],
)
def test_files_that_are_not_what_they_say(name: str, text: str, said: str, place: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SourceError, match=said):
        lakebed.merge(tmp_path / name, place, keys="id")


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_text_without_a_table_is_for_ingest(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetMergeError) as caught:
        lakebed.merge(written(tmp_path, kind), tmp_path / "none", keys="id")
    assert "ingest" in (caught.value.remedy or "")


@pytest.mark.parametrize(
    "source",
    [
        [],
        iter([]),
        [1, 2],
        [{"id": 1}, 2],
        {"id": [1], "v": [1, 2]},
        {"id": [1, "x"]},
        {1: [1]},
        iter([pa.table({"id": [1]}), pa.table({"id": [2], "more": [1]})]),
        iter([pa.table({"id": [1]}), pa.table({"id": ["x"]})]),
        object(),
    ],
    ids=[
        "nothing",
        "an iterator of nothing",
        "numbers",
        "a row and a number",
        "columns of two lengths",
        "a column of two types",
        "a name that is no text",
        "tables of other columns",
        "tables of other types",
        "an object",
    ],
)
def test_what_is_no_source_is_refused(source: Any, tmp_path: Path) -> None:
    with pytest.raises(DatasetMergeError) as caught:
        lakebed.merge(source, tmp_path / "t", keys="id")
    assert caught.value.remedy
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("path", ["nothing", "nothing/*.csv", "empty"])
def test_a_path_to_nothing(path: str, tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFound):
        lakebed.merge(tmp_path / path, place, keys="id")


def test_files_of_several_kinds_are_refused(tmp_path: Path, place: str) -> None:
    paths = [written(tmp_path, "csv"), written(tmp_path, "parquet")]
    with pytest.raises(DatasetMergeError, match="several kinds: csv, parquet"):
        lakebed.merge(paths, place, keys="id")


@pytest.mark.server
@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv.gz", "jsonl"])
@pytest.mark.parametrize("form", ["file", "folder", "pattern", "list"])
def test_files_on_s3(kind: str, form: str, s3_server: S3Server, tmp_path: Path, place: str) -> None:
    storage = Storage(s3_server.settings)
    folder = join(s3_server.new_bucket(), "in")
    uri = join(folder, f"new.{kind}")
    storage.put(uri, written(tmp_path, kind).read_bytes())
    source: Any = {"file": uri, "folder": folder, "pattern": f"{folder}/*.{kind}", "list": [uri]}[form]
    check(source, place, "arrow", storage=storage)
