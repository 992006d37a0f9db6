"""The DuckDB engine: which implementation runs, what it logs, and that it leaves nothing behind."""

import logging
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lakebed.datasets import DatasetMergeError, DuckDBDatasetIO
from lakebed.engines.duckdb import version
from lakebed.engines.duckdb.version import detect_version, parse_version, supports_merge

OLD = pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"]})
NEW = pa.table({"id": [2, 4], "v": ["B", "D"]})


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    DuckDBDatasetIO().merge(OLD, tmp_path / "t", "upsert", ["id"])
    return str(tmp_path / "t")


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "lakebed.engines.duckdb.merge"]


@pytest.mark.parametrize(
    ("use_merge", "line"),
    [
        (None, "Using DuckDB MERGE for merge operation (auto-detected)"),
        (True, "Using DuckDB MERGE (explicitly requested)"),
        (False, "Using UNION ALL (explicitly requested)"),
    ],
)
def test_the_chosen_implementation_is_logged(
    dataset: str, use_merge: bool | None, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        result = DuckDBDatasetIO().merge(NEW, dataset, "upsert", ["id"], use_merge=use_merge)
    assert messages(caplog) == [line]
    assert (result.inserted, result.updated) == (1, 1)


def test_an_old_duckdb_falls_back(
    dataset: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(version, "detect_version", lambda connection: (1, 3, 2))
    with caplog.at_level(logging.INFO):
        result = DuckDBDatasetIO().merge(NEW, dataset, "upsert", "id")
    assert messages(caplog) == ["Using UNION ALL fallback for merge operation (DuckDB < 1.4.0 or MERGE unavailable)"]
    assert (result.inserted, result.updated, result.total) == (1, 1, 4)


def test_merge_demanded_of_an_old_duckdb_is_refused(dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version, "detect_version", lambda connection: (1, 3, 2))
    with pytest.raises(DatasetMergeError) as caught:
        DuckDBDatasetIO().merge(NEW, dataset, "upsert", "id", use_merge=True)
    assert caught.value.kind == "MERGE_UNAVAILABLE"
    assert caught.value.message == (
        "DuckDB MERGE requested but not available. Required version: >= 1.4.0, Current: 1.3.2"
    )
    assert "use_merge=False" in str(caught.value)


@pytest.mark.parametrize("wrong", ["yes", 1, 0, "True"])
def test_an_invalid_use_merge_is_a_value_error(dataset: str, wrong: object) -> None:
    with pytest.raises(
        ValueError, match=re.escape(f"Invalid use_merge value: {wrong}\nMust be True, False, or None for auto-detect")
    ):
        DuckDBDatasetIO().merge(NEW, dataset, "upsert", "id", use_merge=wrong)  # type: ignore[arg-type]
    with pytest.raises(DatasetMergeError) as caught:
        DuckDBDatasetIO().merge(NEW, dataset, "upsert", "id", use_merge=wrong)  # type: ignore[arg-type]
    assert caught.value.kind == "INVALID_USE_MERGE"


def test_union_all_asked_for_checks_no_version(dataset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(connection: object) -> tuple[int, int, int]:
        raise AssertionError("the version was asked for")

    monkeypatch.setattr(version, "detect_version", never)
    assert DuckDBDatasetIO().merge(NEW, dataset, "upsert", "id", use_merge=False).total == 4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("1.4.0", (1, 4, 0)), ("v1.4.1", (1, 4, 1)), ("10.2.3", (10, 2, 3)), ("v1.5.0-dev12", (1, 5, 0))],
)
def test_versions_parse(text: str, wanted: tuple[int, int, int]) -> None:
    assert parse_version(text) == wanted


@pytest.mark.parametrize("text", ["", "1.4", "one.two.three", "v"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_version(text)


def test_versions_compare_as_numbers() -> None:
    assert supports_merge((10, 2, 0))
    assert supports_merge((1, 4, 0))
    assert not supports_merge((1, 3, 99))
    assert not supports_merge((0, 0, 0))


class BrokenConnection:
    """A connection whose version query fails or answers strangely."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked = 0

    def execute(self, query: str) -> duckdb.DuckDBPyConnection:
        self.asked += 1
        if self.answer is None:
            raise duckdb.CatalogException("no such function")
        return duckdb.connect().execute("SELECT ? AS library_version", [self.answer])


@pytest.mark.parametrize("answer", [None, "strange"])
def test_an_unknown_version_is_zero_with_a_warning(answer: str | None, caplog: pytest.LogCaptureFixture) -> None:
    assert detect_version(BrokenConnection(answer)) == (0, 0, 0)
    assert any(message.startswith("Could not determine DuckDB version") for message in messages(caplog))


def test_the_version_is_asked_once_per_connection() -> None:
    connection = BrokenConnection("v1.4.2")
    assert detect_version(connection) == detect_version(connection) == (1, 4, 2)
    assert connection.asked == 1


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("use_merge", [True, False])
def test_nothing_stays_in_the_callers_connection(dataset: str, use_merge: bool, fails: bool) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE mine AS SELECT 1 AS a")
    source = pa.table({"id": [2, 2], "v": ["x", "y"]}) if fails else NEW
    io = DuckDBDatasetIO(connection)
    if fails:
        with pytest.raises(DatasetMergeError):
            io.merge(source, dataset, "upsert", "id", use_merge=use_merge)
    else:
        io.merge(source, dataset, "upsert", "id", use_merge=use_merge)
    assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]
    assert connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


def test_an_error_of_duckdb_is_wrapped_with_its_context(dataset: str, caplog: pytest.LogCaptureFixture) -> None:
    broken = next(Path(dataset).glob("*.parquet"))
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '1MB'; SET temp_directory = ''")
    big = pa.table({"id": range(300_000), "v": ["x" * 50] * 300_000})
    held = broken.read_bytes()
    with pytest.raises(DatasetMergeError, match="MERGE operation failed: ") as caught:
        DuckDBDatasetIO(connection).merge(big, dataset, "upsert", "id")
    assert caught.value.kind == "ENGINE_FAILED"
    assert caught.value.strategy == "upsert"
    assert caught.value.key_columns == ("id",)
    assert caught.value.operation == "merge"
    assert isinstance(caught.value.__cause__, duckdb.Error)
    assert broken.read_bytes() == held
    assert any("strategy upsert" in message for message in messages(caplog))


def test_merge_spills_rather_than_fails(tmp_path: Path) -> None:
    connection = duckdb.connect(config={"memory_limit": "200MB", "temp_directory": str(tmp_path / "spill")})
    rows = 400_000
    old = pa.table({"id": range(rows), "v": [f"old value {n}" for n in range(rows)]})
    io = DuckDBDatasetIO(connection)
    io.merge(old, tmp_path / "t", "upsert", "id")
    result = io.merge(old, tmp_path / "t", "upsert", "id")
    assert (result.updated, result.inserted, result.total) == (rows, 0, rows)
