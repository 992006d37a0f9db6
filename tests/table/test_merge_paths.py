"""Whatever a folder or a partition is called, an engine that created the table can merge into it again."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.support.iceberg_tables import open_table
from tests.support.s3_server import S3Server
from typer.testing import CliRunner

from lakebed.cli import build
from lakebed.engines.arrow.merge import ArrowMerge
from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.protocols.merge import MergeEngine
from lakebed.errors import LakebedError
from lakebed.storage import Storage, join
from lakebed.table.merge import merge
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.rows import difference, rows

CONTROL = "tab\tand new\nline"
WORDS = [
    "it's",
    "a;b",
    "bucket--x-s3",
    'a "quoted" one',
    "back`tick",
    "/* comment */",
    "1'; DROP TABLE t; --",
    "a*b?c[d]e{f}",
    "back\\slash",
    "zero\u200bwidth and \u202eright to left",
    "👨‍👩‍👧 日本 größe",
    "100%25+@,()~#=:$&|<>!^",
    CONTROL,
    "two..dots",
    " leading and trailing ",
]
OLD = rows("id p v", (1, "x", "a"), (2, "y", "b"))
NEW = rows("id p v w", (2, "z", "B", 1), (3, "x", "n", 2))
AFTER = rows("id p v w", (1, "x", "a", None), (2, "z", "B", 1), (3, "x", "n", 2))

ENGINES = {
    "arrow": ArrowMerge,
    "duckdb": lambda: DuckDBMerge(use_merge=True),
    "fallback": lambda: DuckDBMerge(use_merge=False, connection=duckdb.connect()),
}


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> MergeEngine:
    made: MergeEngine = ENGINES[request.param]()  # type: ignore[no-untyped-call]
    return made


def named(table: pa.Table, words: dict[str, str]) -> pa.Table:
    values = [words.get(value, value) for value in table.column("p").to_pylist()]
    return table.set_column(1, "p", pa.array(values, pa.string()))


FOLDERS = [word for word in WORDS if word != CONTROL]


@pytest.mark.parametrize("word", FOLDERS)
def test_a_folder_of_any_name(word: str, engine: MergeEngine, tmp_path: Path) -> None:
    place = f"parquet:{tmp_path}/{word.replace('/', '_')}/t"
    merge(OLD, place, keys="id", engine=engine)
    done = merge(NEW, place, keys="id", engine=engine)
    assert (done.inserted, done.updated) == (1, 1)
    assert difference(ParquetTarget(place.removeprefix("parquet:")).read().to_table(), AFTER) is None


@pytest.mark.parametrize("word", WORDS)
def test_a_partition_of_any_value(word: str, engine: MergeEngine, tmp_path: Path) -> None:
    words = {"x": word, "z": f"{word} again"}
    folder = str(tmp_path / "t")
    merge(named(OLD, words), folder, keys="id", engine=engine, partition_by="p")
    done = merge(named(NEW, words), folder, keys="id", engine=engine)
    assert (done.inserted, done.updated) == (1, 1)
    assert difference(ParquetTarget(folder).read().to_table(), named(AFTER, words)) is None
    again = merge(named(NEW, words), folder, keys=["id", "p"], engine=engine)
    assert (again.inserted, again.updated) == (0, 2)


@pytest.mark.parametrize("word", [word for word in FOLDERS if "?" not in word])
def test_a_duckdb_file_and_table_of_any_name(word: str, engine: MergeEngine, tmp_path: Path) -> None:
    target = DuckDBTarget(str(tmp_path / word.replace("/", "_") / "t.duckdb"), word)
    merge(OLD, target, keys="id", engine=engine)
    done = merge(NEW, target, keys="id", engine=engine)
    assert (done.inserted, done.updated) == (1, 1)
    assert difference(target.read(), AFTER) is None


@pytest.mark.parametrize("word", WORDS)
def test_an_iceberg_partition_of_any_value(word: str, tmp_path: Path) -> None:
    words = {"x": word, "z": f"{word} again"}
    target = open_table(tmp_path / "it's; a--b")
    merge(named(OLD, words), target, keys="id", engine="duckdb", partition_by="p")
    done = merge(named(NEW, words), target, keys="id", engine="duckdb")
    assert (done.inserted, done.updated) == (1, 1)
    assert difference(target.read().to_table(), named(AFTER, words)) is None  # type: ignore[union-attr]


def test_the_command_line_says_what_it_did(tmp_path: Path) -> None:
    source, place = tmp_path / "s", tmp_path / "it's; a--b" / "t"
    merge(NEW, str(source), keys="id", engine="arrow")
    for inserted, updated in ((2, 0), (0, 2)):
        done = CliRunner().invoke(build(["merge"]), ["merge", str(source), str(place), "--keys", "id", "--json"])
        assert done.exit_code == 0, done.output
        said = json.loads(done.stdout)
        assert (said["inserted"], said["updated"]) == (inserted, updated)


@pytest.mark.server
@pytest.mark.parametrize(
    "word", ["it's", "a;b", "x--x-s3", "a b", "größe 👍", "100%25", "a+b@c,(d)~=:$&", "a*b", "a#c"]
)
def test_a_prefix_of_any_name_on_s3(word: str, engine: MergeEngine, s3_server: S3Server) -> None:
    storage = Storage(s3_server.settings)
    place = join(s3_server.new_bucket(), word, "t")
    merge(OLD, place, keys="id", engine=engine, storage=storage, partition_by="p")
    done = merge(NEW, place, keys="id", engine=engine, storage=storage)
    assert (done.inserted, done.updated) == (1, 1)
    assert difference(ParquetTarget(place, storage).read().to_table(), AFTER) is None


@pytest.mark.server
def test_a_question_mark_on_s3_is_left_to_arrow(engine: MergeEngine, s3_server: S3Server) -> None:
    storage = Storage(s3_server.settings)
    place = join(s3_server.new_bucket(), "a?b", "t")
    if not isinstance(engine, DuckDBMerge):
        merge(OLD, place, keys="id", engine=engine, storage=storage)
        assert merge(NEW, place, keys="id", engine=engine, storage=storage).updated == 1
        return
    with pytest.raises(LakebedError, match=r"takes what follows a \? in .* for parameters") as caught:
        merge(OLD, place, keys="id", engine=engine, storage=storage)
    assert "engine='arrow'" in caught.value.remedy


@pytest.mark.parametrize(
    ("place", "said"), [("parquet:{}/tab\tbed", "control character"), ("duckdb:{}/a?b.duckdb#t", "a \\? in")]
)
def test_what_no_storage_can_open_is_said(place: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LakebedError, match=said) as caught:
        merge(OLD, place.format(tmp_path), keys="id", engine="arrow")
    assert caught.value.remedy
