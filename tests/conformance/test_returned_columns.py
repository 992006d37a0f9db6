"""Names that other writers drop, rename and swap: a file's columns are those of its field ids, on every way to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import LongType
from tests.support.iceberg_runtime import by_runtime
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, of_slice, open_table, rows_of

import lakebed
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.spark.merge import BROADCAST_ROWS, SparkMerge
from lakebed.engines.spark.session import Session
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.table.merge import merge
from lakebed.table.replace import Replacement, replace_slice
from lakebed.targets.iceberg.target import IcebergTarget

Row = dict[str, object]


@dataclass(frozen=True)
class Story:
    """Rows in two files; what a stranger does; a source; and the rows that then are there.

    `statements` are the stranger's changes in Spark's SQL, `TABLE` standing for the table.
    """

    name: str
    first: list[Row]
    second: list[Row]
    by_pyiceberg: tuple[Callable[[UpdateSchema], object], ...]
    statements: tuple[str, ...]
    source: pa.Table
    expected: list[Row]
    keys: str = "id"


def renamed(old: str, new: str) -> Callable[[UpdateSchema], object]:
    return lambda update: update.rename_column(old, new)


def dropped(*path: str) -> Callable[[UpdateSchema], object]:
    return lambda update: update.delete_column(path)


TWO = pa.struct([("a", pa.int64()), ("b", pa.int64())])
STORIES = [
    Story(
        "dropped and returned",
        [{"id": 1, "x": 10}, {"id": 2, "x": 20}],
        [{"id": 3, "x": 30}],
        (dropped("x"),),
        ("ALTER TABLE TABLE DROP COLUMN x",),
        pa.table({"id": [1, 4], "x": [11, 44]}),
        [{"id": 1, "x": 11}, {"id": 2, "x": None}, {"id": 3, "x": None}, {"id": 4, "x": 44}],
    ),
    Story(
        "returned as text",
        [{"id": 1, "x": 10}, {"id": 2, "x": 20}],
        [{"id": 3, "x": 30}],
        (dropped("x"),),
        ("ALTER TABLE TABLE DROP COLUMN x",),
        pa.table({"id": [1], "X": ["eleven"]}),
        [{"id": 1, "X": "eleven"}, {"id": 2, "X": None}, {"id": 3, "X": None}],
    ),
    Story(
        "returned as a struct",
        [{"id": 1, "x": 10}, {"id": 2, "x": 20}],
        [{"id": 3, "x": 30}],
        (dropped("x"),),
        ("ALTER TABLE TABLE DROP COLUMN x",),
        pa.table({"id": [1], "x": pa.array([{"a": 1, "b": 2}], TWO)}),
        [{"id": 1, "x": {"a": 1, "b": 2}}, {"id": 2, "x": None}, {"id": 3, "x": None}],
    ),
    Story(
        "returned by the stranger itself",
        [{"id": 1, "x": 10}, {"id": 2, "x": 20}],
        [{"id": 3, "x": 30}],
        (dropped("x"), lambda update: update.add_column("x", LongType())),
        ("ALTER TABLE TABLE DROP COLUMN x", "ALTER TABLE TABLE ADD COLUMN x BIGINT"),
        pa.table({"id": [1], "y": ["new"]}),
        [{"id": 1, "x": None, "y": "new"}, {"id": 2, "x": None, "y": None}, {"id": 3, "x": None, "y": None}],
    ),
    Story(
        "a field of a struct",
        [{"id": 1, "st": {"a": 1, "b": 10}}, {"id": 2, "st": {"a": 2, "b": 20}}],
        [{"id": 3, "st": {"a": 3, "b": 30}}],
        (dropped("st", "b"),),
        ("ALTER TABLE TABLE DROP COLUMN st.b",),
        pa.table({"id": [1], "st": pa.array([{"a": 5, "b": 50}], TWO)}),
        [
            {"id": 1, "st": {"a": 5, "b": 50}},
            {"id": 2, "st": {"a": 2, "b": None}},
            {"id": 3, "st": {"a": 3, "b": None}},
        ],
    ),
    Story(
        "a field of a struct, returned as text",
        [{"id": 1, "st": {"a": 1, "b": 10}}, {"id": 2, "st": {"a": 2, "b": 20}}],
        [{"id": 3, "st": {"a": 3, "b": 30}}],
        (dropped("st", "b"),),
        ("ALTER TABLE TABLE DROP COLUMN st.b",),
        pa.table({"id": [1], "st": pa.array([{"a": 5, "b": "fifty"}])}),
        [
            {"id": 1, "st": {"a": 5, "b": "fifty"}},
            {"id": 2, "st": {"a": 2, "b": None}},
            {"id": 3, "st": {"a": 3, "b": None}},
        ],
    ),
    Story(
        "fields in lists and maps",
        [{"id": 1, "l": [{"a": 1, "b": 2}], "m": [("k", {"a": 1, "b": 2})]}, {"id": 2, "l": None, "m": None}],
        [{"id": 3, "l": [], "m": []}],
        (dropped("l", "element", "b"), renamed("m.value.a", "c")),
        ("ALTER TABLE TABLE DROP COLUMN l.element.b", "ALTER TABLE TABLE RENAME COLUMN m.value.a TO c"),
        pa.table({"id": [2], "l": pa.array([[{"a": 7, "b": 8}]], pa.list_(TWO))}),
        [
            {"id": 1, "l": [{"a": 1, "b": None}], "m": [("k", {"c": 1, "b": 2})]},
            {"id": 2, "l": [{"a": 7, "b": 8}], "m": None},
            {"id": 3, "l": [], "m": []},
        ],
    ),
    Story(
        "renamed, and the old name is new",
        [{"id": 1, "a": "one"}, {"id": 2, "a": "two"}],
        [{"id": 3, "a": "three"}],
        (renamed("a", "b"),),
        ("ALTER TABLE TABLE RENAME COLUMN a TO b",),
        pa.table({"id": [1], "a": ["new"]}),
        [{"id": 1, "b": "one", "a": "new"}, {"id": 2, "b": "two", "a": None}, {"id": 3, "b": "three", "a": None}],
    ),
    Story(
        "renamed to a name that was dropped",
        [{"id": 1, "a": "one", "b": "x"}, {"id": 2, "a": "two", "b": "y"}],
        [{"id": 3, "a": "three", "b": "z"}],
        (dropped("b"), renamed("a", "c")),
        ("ALTER TABLE TABLE DROP COLUMN b", "ALTER TABLE TABLE RENAME COLUMN a TO c"),
        pa.table({"id": [1], "b": ["new"], "c": ["uno"]}),
        [{"id": 1, "c": "uno", "b": "new"}, {"id": 2, "c": "two", "b": None}, {"id": 3, "c": "three", "b": None}],
    ),
    Story(
        "two names swapped",
        [{"id": 1, "a": 1, "b": 10}, {"id": 2, "a": 2, "b": 20}],
        [{"id": 3, "a": 3, "b": 30}],
        (renamed("a", "t"), renamed("b", "a"), renamed("t", "b")),
        (
            "ALTER TABLE TABLE RENAME COLUMN a TO t",
            "ALTER TABLE TABLE RENAME COLUMN b TO a",
            "ALTER TABLE TABLE RENAME COLUMN t TO b",
        ),
        pa.table({"id": [1], "a": [100]}),
        [{"id": 1, "b": 1, "a": 100}, {"id": 2, "b": 2, "a": 20}, {"id": 3, "b": 3, "a": 30}],
    ),
    Story(
        "the key swapped with another column",
        [{"id": 1, "other": 10}, {"id": 2, "other": 20}],
        [{"id": 3, "other": 30}],
        (renamed("id", "t"), renamed("other", "id"), renamed("t", "other")),
        (
            "ALTER TABLE TABLE RENAME COLUMN id TO t",
            "ALTER TABLE TABLE RENAME COLUMN other TO id",
            "ALTER TABLE TABLE RENAME COLUMN t TO other",
        ),
        pa.table({"id": [10, 1], "tag": ["ten", "one"]}),
        [
            {"other": 1, "id": 10, "tag": "ten"},
            {"other": 2, "id": 20, "tag": None},
            {"other": 3, "id": 30, "tag": None},
            {"other": None, "id": 1, "tag": "one"},
        ],
    ),
]


def table_of(rows: Sequence[Row]) -> pa.Table:
    kinds = {"st": TWO, "l": pa.list_(TWO), "m": pa.map_(pa.string(), TWO)}
    return pa.table({name: pa.array([row[name] for row in rows], kinds.get(name)) for name in rows[0]})


def start(workdir: Path, story: Story, name: str = "billing.costs") -> IcebergTarget:
    target = open_table(workdir, name)
    load(target, table_of(story.first))
    load(target, table_of(story.second))
    return target


def by_pyiceberg(target: IcebergTarget, story: Story) -> None:
    for change in story.by_pyiceberg:
        with target.existing_table().update_schema(allow_incompatible_changes=True) as update:
            change(update)


def stories() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)


def plain(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: str(row["id"]).zfill(9))


@stories()
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_merge(tmp_path: Path, story: Story, engine: str) -> None:
    target = start(tmp_path, story)
    by_pyiceberg(target, story)
    result = merge(story.source, target, keys=story.keys, engine=engine)
    assert result.updated == 1
    assert plain(rows_of(target)) == plain(story.expected)


@pytest.mark.spark
@pytest.mark.parametrize("broadcast_rows", [BROADCAST_ROWS, 0], ids=["broadcast", "shuffled"])
@stories()
def test_merge_and_read_on_spark(
    tmp_path: Path, story: Story, broadcast_rows: int, spark_local: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On workers, though so few rows would be merged in this process."""
    monkeypatch.setattr("lakebed.engines.spark.merge.DRIVER_ROWS", -1)
    target = start(tmp_path, story)
    by_pyiceberg(target, story)
    engine = SparkMerge(spark_local.spark, broadcast_rows=broadcast_rows)
    frame = spark_local.spark.createDataFrame(story.source)
    assert merge(frame, target, keys=story.keys, engine=engine).updated == 1
    assert plain(rows_of(target)) == plain(story.expected)
    seen = lakebed.read(target, spark=spark_local.spark).toArrow().to_pylist()
    assert plain(seen) == plain(story.expected)


@pytest.mark.spark
@pytest.mark.full
def test_the_stranger_is_spark(tmp_path: Path) -> None:
    """Every story again, the changes made by Iceberg's own runtime, which also reads the result."""
    targets = [start(tmp_path, story, f"billing.story_{number}") for number, story in enumerate(STORIES)]
    changes = [
        text.replace("TABLE TABLE", f"TABLE lakebed.{target.name}")
        for target, story in zip(targets, STORIES, strict=True)
        for text in story.statements
    ]
    by_runtime(targets[0], changes)
    for target, story in zip(targets, STORIES, strict=True):
        assert merge(story.source, target, keys=story.keys).updated == 1, story.name
        assert plain(rows_of(target)) == plain(story.expected), story.name
    counts = by_runtime(targets[0], [f"SELECT * FROM lakebed.{target.name}" for target in targets])
    for found, story in zip(counts, STORIES, strict=True):
        assert plain(found) == plain([_with_maps(row) for row in story.expected]), story.name


def _with_maps(row: Row) -> Row:
    """A row as Python's Spark has it, where a map is a dictionary."""
    return {name: dict(value) if name == "m" and isinstance(value, list) else value for name, value in row.items()}


@stories()
def test_a_load_that_rewrites_a_file(tmp_path: Path, story: Story) -> None:
    """The rows of another slice lie in the file that is rewritten without the slice that is replaced."""
    target = open_table(tmp_path)
    both = pa.concat_tables([of_slice(table_of(story.first), OCTOBER), of_slice(table_of(story.second), NOVEMBER)])
    load(target, both)
    by_pyiceberg(target, story)
    state = target.state()
    incoming = of_slice(story.source, OCTOBER, "delivery-2")
    evolution = plan_evolution(
        state.schema, from_arrow_schema(incoming.schema), Policy(rules=target.capabilities.rules)
    )
    staging = target.stage(state, evolution)
    engine = ArrowEngine()
    replace_slice(target, engine, state, staging, Replacement(evolution, OCTOBER, ()))
    kept = {row["id"] for row in table_of(story.second).to_pylist()}
    if "key" in story.name:
        kept = {30}
    expected = [row for row in story.expected if row["id"] in kept]
    found = [{name: value for name, value in row.items() if not name.startswith("lakebed_")} for row in rows_of(target)]
    assert plain(found) == plain(expected)


@stories()
def test_evolve_then_read(tmp_path: Path, story: Story) -> None:
    target = start(tmp_path, story)
    by_pyiceberg(target, story)
    lakebed.evolve(target, story.source.schema, workdir=tmp_path)
    kept = {row["id"]: row for row in story.expected}
    for row in rows_of(target):
        for name, value in row.items():
            wanted = kept[row["id"]][name]
            assert value == wanted or row["id"] in story.source["id"].to_pylist(), (name, value)


def test_keys_in_files_whose_bounds_only_footers_have(tmp_path: Path) -> None:
    """A stranger that writes no metrics, and then swaps the key with another column."""
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1], "other": [100]}))
    table = target.existing_table()
    with table.transaction() as change:
        change.set_properties({"write.metadata.metrics.default": "none"})
    target.existing_table().append(pa.table({"id": [2, 3], "other": [200, 300]}))
    for old, new in (("id", "t"), ("other", "id"), ("t", "other")):
        with target.existing_table().update_schema() as update:
            update.rename_column(old, new)
    for engine in ("arrow", "duckdb"):
        result = merge(pa.table({"id": [300], "tag": [engine]}), target, keys="id", engine=engine)
        assert (result.updated, result.inserted) == (1, 0)
    assert [row for row in rows_of(target) if row["tag"]] == [{"other": 3, "id": 300, "tag": "duckdb"}]


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_imported_files_without_field_ids(tmp_path: Path, engine: str) -> None:
    """The table's name mapping says what their names mean; a name that returns is a new column for them too."""
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1], "x": [10], "y": ["a"]}))
    loose = tmp_path / "loose.parquet"
    pq.write_table(pa.table({"id": [2, 3], "x": [20, 30], "y": ["b", "c"]}), loose)
    target.existing_table().add_files([f"file://{loose}"])
    with target.existing_table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("x")
        update.rename_column("y", "z")
    assert plain(rows_of(target)) == [{"id": 1, "z": "a"}, {"id": 2, "z": "b"}, {"id": 3, "z": "c"}]
    merge(pa.table({"id": [2], "x": [22]}), target, keys="id", engine=engine)
    assert plain(rows_of(target)) == [
        {"id": 1, "z": "a", "x": None},
        {"id": 2, "z": "b", "x": 22},
        {"id": 3, "z": "c", "x": None},
    ]
    assert plain(rows_of(target)) == plain(target.existing_table().scan().to_arrow().to_pylist())


def test_a_source_with_ids_of_another_table_is_taken_by_name(tmp_path: Path) -> None:
    other = open_table(tmp_path, "billing.other")
    load(other, pa.table({"st": pa.array([{"b": 2, "a": 1}]), "id": [1]}))
    (file,) = other.state().files
    target = open_table(tmp_path)
    load(target, pa.table({"id": [1, 2], "st": pa.array([{"a": 8, "b": 9}] * 2, TWO)}))
    for engine in ("arrow", "duckdb"):
        merge(file.uri, target, keys="id", engine=engine)
        assert plain(rows_of(target)) == [{"id": 1, "st": {"a": 1, "b": 2}}, {"id": 2, "st": {"a": 8, "b": 9}}]


@stories()
def test_compact(tmp_path: Path, story: Story) -> None:
    target = start(tmp_path, story)
    by_pyiceberg(target, story)
    before = plain(rows_of(target))
    assert lakebed.compact(target, workdir=tmp_path).files_after == 1
    assert plain(rows_of(target)) == before
    merge(story.source, target, keys=story.keys)
    assert plain(rows_of(target)) == plain(story.expected)
