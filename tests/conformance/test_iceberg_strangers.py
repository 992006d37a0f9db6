"""Every change of a stranger, then every action of ours: right to the last value, or refused before any work."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import LongType, StringType
from tests.support import SUPPORT
from tests.support.equality_deletes import delete_by_value
from tests.support.iceberg_tables import open_table
from tests.support.s3_server import S3Server
from tests.support.stranger_matrix import ACTIONS, STRUCT, Change, Row, judge, keep_or_compare, make_table
from tests.support.strangers import attach_rest, duckdb_with_iceberg, jars

from lakebed.errors import TargetError
from lakebed.targets.iceberg.spark_conf import RUNTIME, SQLITE_DRIVER, spark_conf
from lakebed.targets.iceberg.target import IcebergTarget

V3 = {"all": "format version 3"}


def key(action: str, change: Change) -> str:
    letters = "".join(letter if letter.isalnum() else "_" for letter in change.name)
    return f"{action}_{letters}".lower()


# ---- PyIceberg, in this process ------------------------------------------------------------------------------------


@contextmanager
def changing(target: IcebergTarget) -> Iterator[Table]:
    yield target.existing_table()


def more(target: IcebergTarget) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([10, 11], pa.int64()),
            "n": pa.array([1, 2], pa.int32()),
            "note": ["more", None],
            "st": pa.array([{"a": 1, "b": "y"}, None], STRUCT),
            "lakebed_period": ["2026-09", "2026-10"],
        }
    )


def append(target: IcebergTarget) -> None:
    table = target.existing_table()
    rows = more(target)
    names = [field.name for field in table.schema().fields]
    table.append(rows.select([name for name in rows.column_names if name in names]))


def drop(target: IcebergTarget) -> None:
    with target.existing_table().update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("note")


def rename(target: IcebergTarget) -> None:
    with target.existing_table().update_schema() as update:
        update.rename_column("note", "remark")


def widen(target: IcebergTarget) -> None:
    with target.existing_table().update_schema() as update:
        update.update_column("n", field_type=LongType())


def add(target: IcebergTarget) -> None:
    with target.existing_table().update_schema() as update:
        update.add_column("extra", StringType())
        update.add_column(("st", "c"), StringType())


def reorder(target: IcebergTarget) -> None:
    with target.existing_table().update_schema() as update:
        update.move_first("note")


def partition(target: IcebergTarget) -> None:
    target.existing_table().update_spec().add_field("id", BucketTransform(4), "bucket").commit()
    append(target)
    table = target.existing_table()
    with table.update_spec() as update:
        update.remove_field("bucket")
        update.add_field("note", TruncateTransform(3), "prefix")
    append(target)
    target.existing_table().delete(EqualTo("id", 10))  # type: ignore[call-arg, arg-type]


def sort(target: IcebergTarget) -> None:
    with target.existing_table().update_sort_order() as update:
        update.desc("id", IdentityTransform())
    append(target)


def branch(target: IcebergTarget) -> None:
    table = target.existing_table()
    snapshot = table.metadata.current_snapshot_id
    assert snapshot is not None
    table.manage_snapshots().create_tag(snapshot, "closed").create_branch(snapshot, "other").commit()
    target.existing_table().append(more(target), branch="other")


def add_foreign_files(target: IcebergTarget) -> None:
    """Files without field ids, which the table finds by the names of their columns."""
    table = target.existing_table()
    place = Path(table.location().removeprefix("file://")) / "foreign.parquet"
    pq.write_table(more(target), place)
    table.add_files([f"file://{place}"])


def delete_by_values(target: IcebergTarget) -> None:
    """As Flink would: one file for a value that is there twice, one with NULL, and a row that comes back after it."""
    delete_by_value(target, pa.table({"id": pa.array([2, 5], pa.int64())}))
    target.existing_table().append(more(target))
    delete_by_value(target, pa.table({"note": pa.array([None, "note 3"], pa.string())}))
    again = more(target).slice(0, 1).set_column(0, "id", pa.array([5], pa.int64()))
    target.existing_table().append(again)


def delete(target: IcebergTarget) -> None:
    target.existing_table().delete(EqualTo("id", 2))  # type: ignore[call-arg, arg-type]


BY_PYICEBERG = [
    Change("adds a column, and a field in a struct", add),
    Change("drops a column", drop),
    Change("renames a column", rename),
    Change("widens int to long", widen),
    Change("moves a column to the front", reorder),
    Change("appends rows", append),
    Change("deletes rows (copy on write)", delete),
    Change("partitions by bucket, then by truncate", partition),
    Change("sets a sort order", sort),
    Change("makes a branch and a tag", branch),
    Change("adds files without field ids", add_foreign_files),
    Change("deletes rows by value (equality deletes, written by hand)", delete_by_values),
]


def test_pyiceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: dict[str, dict[str, str]] = {}
    for change in BY_PYICEBERG:
        for action in ACTIONS:
            target = open_table(tmp_path, f"pyiceberg.{key(action, change)}")
            make_table(target)
            assert callable(change.does)
            change.does(target)
            rows: list[Row] = read_as_stranger(target)
            told = judge(open_table(tmp_path, target.name), change, action, rows)
            seen.setdefault(change.name, {})[action] = told
            refs = target.existing_table().metadata.refs
            assert change.does is not branch or {"closed", "other"} <= refs.keys()
    keep_or_compare("PyIceberg", seen)


def read_as_stranger(target: IcebergTarget) -> list[Row]:
    """What PyIceberg reads; DuckDB, where it cannot."""
    table = target.existing_table()
    try:
        return table.scan().to_arrow().to_pylist()
    except ValueError as unknown:
        if "equality deletes" not in str(unknown):
            raise
    with duckdb_with_iceberg() as duck:
        return duck.execute(f"SELECT * FROM iceberg_scan('{table.metadata_location}')").to_arrow_table().to_pylist()


# ---- DuckDB, on REST -----------------------------------------------------------------------------------------------

BY_DUCKDB = [
    Change("adds a column", ("ALTER TABLE {t} ADD COLUMN extra VARCHAR", "UPDATE {t} SET extra = 'x' WHERE id = 2")),
    Change("renames a column", ("ALTER TABLE {t} RENAME COLUMN note TO remark",)),
    Change("widens int to bigint", ("ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT",)),
    Change("inserts rows", ("INSERT INTO {t} (id, n, note, lakebed_period) VALUES (10, 1, 'more', '2026-09')",)),
    Change("deletes rows (merge on read)", ("DELETE FROM {t} WHERE id = 2",)),
    Change("updates rows (merge on read)", ("UPDATE {t} SET n = 7 WHERE id IN (1, 4)",)),
]


@pytest.mark.server
def test_duckdb(tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: dict[str, dict[str, str]] = {}
    with duckdb_with_iceberg() as duck:
        attach_rest(duck, s3_server)
        for change in BY_DUCKDB:
            for action in ACTIONS:
                name = f"strangers.{key(action, change)}"
                target = open_table(tmp_path, name, storage=s3_server.settings, **s3_server.catalog_properties)
                make_table(target)
                assert not callable(change.does)
                for statement in change.does:
                    duck.execute(statement.format(t=f"lake.{name}"))
                rows = duck.execute(f"SELECT * FROM lake.{name}").to_arrow_table().to_pylist()
                seen.setdefault(change.name, {})[action] = judge(target, change, action, rows)
    keep_or_compare("DuckDB", seen)


# ---- Spark with Iceberg's own runtime, on SQLite --------------------------------------------------------------------

MORE = (
    "INSERT INTO {t} (id, n, note, st, lakebed_payer, lakebed_report, lakebed_period, lakebed_delivery) VALUES "
    "(10, 1, 'more', named_struct('a', 1, 'b', 'y'), 'p', 'r', '2026-09', 'd'), "
    "(11, 2, NULL, NULL, 'p', 'r', '2026-10', 'd')"
)
BY_SPARK = [
    Change(
        "adds a column, and a field in a struct",
        (
            "ALTER TABLE {t} ADD COLUMNS (extra string, st.c int)",
            "UPDATE {t} SET extra = 'x' WHERE id = 2",
        ),
    ),
    Change("drops a column", ("ALTER TABLE {t} DROP COLUMN note",)),
    Change("renames a column", ("ALTER TABLE {t} RENAME COLUMN note TO remark",)),
    Change("widens int to bigint", ("ALTER TABLE {t} ALTER COLUMN n TYPE bigint",)),
    Change("moves a column to the front", ("ALTER TABLE {t} ALTER COLUMN note FIRST",)),
    Change("inserts rows", (MORE,)),
    Change("deletes rows (copy on write)", ("DELETE FROM {t} WHERE id = 2",)),
    Change(
        "deletes rows (merge on read)",
        ("ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read')", "DELETE FROM {t} WHERE id = 2"),
    ),
    Change(
        "merges rows (merge on read)",
        (
            "ALTER TABLE {t} SET TBLPROPERTIES ('write.merge.mode'='merge-on-read')",
            "MERGE INTO {t} t USING (SELECT 1L AS id, 7 AS n) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.n = s.n",
        ),
    ),
    Change(
        "partitions by bucket, then by truncate and month",
        (
            "ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)",
            MORE,
            "ALTER TABLE {t} DROP PARTITION FIELD bucket(4, id)",
            "ALTER TABLE {t} ADD PARTITION FIELD truncate(3, note)",
            "ALTER TABLE {t} ADD COLUMN at timestamp_ntz",
            "ALTER TABLE {t} ADD PARTITION FIELD months(at)",
            "UPDATE {t} SET n = 8 WHERE id = 10",
        ),
    ),
    Change("sets a sort order", ("ALTER TABLE {t} WRITE ORDERED BY id DESC", MORE)),
    Change(
        "makes a branch and a tag",
        (
            "ALTER TABLE {t} CREATE TAG closed",
            "ALTER TABLE {t} CREATE BRANCH other",
            MORE.replace("{t}", "{t}.branch_other"),
        ),
    ),
    Change("computes statistics (Puffin)", ("CALL lakebed.system.compute_table_stats('{n}')",)),
    Change(
        "compacts", ("CALL lakebed.system.rewrite_data_files(table => '{n}', options => map('rewrite-all', 'true'))",)
    ),
    Change("writes files in ORC", ("ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='orc')", MORE)),
    Change(
        "writes files in Avro",
        ("ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default'='avro')", MORE),
        {action: "AVRO" for action in ACTIONS if action != "rollback"},
        readable=False,
    ),
    Change(
        "deletes rows by value (equality deletes, Iceberg's Java library)",
        ("BY VALUE {t} PARQUET n 11 41", MORE, "BY VALUE {t} PARQUET note more nothing"),
    ),
    Change(
        "deletes rows by value, in Avro",
        ("BY VALUE {t} AVRO n 11 41",),
        {action: "equality deletes in the format AVRO" for action in ACTIONS if action != "rollback"},
        readable=False,
    ),
    Change(
        "deletes rows by value, then compacts",
        (
            "BY VALUE {t} PARQUET n 11 41",
            "CALL lakebed.system.rewrite_data_files(table => '{n}', options => map('delete-file-threshold', '1'))",
        ),
    ),
    Change(
        "upgrades to version 3, and deletes rows (deletion vectors)",
        (
            "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')",
            "DELETE FROM {t} WHERE id = 2",
        ),
        V3,
    ),
]


@pytest.mark.full
@pytest.mark.spark
def test_spark_with_icebergs_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [(change, action) for change in BY_SPARK for action in ACTIONS]
    requests = []
    for change, action in cells:
        name = f"spark.{key(action, change)}"
        make_table(open_table(tmp_path, name))
        assert not callable(change.does)
        requests += [statement.format(t=f"lakebed.{name}", n=name) for statement in change.does]
        requests.append(f"SELECT * FROM lakebed.{name}")
    extra = open_table(tmp_path, "spark.variants")
    make_table(extra)
    requests += [
        "ALTER TABLE lakebed.spark.variants SET TBLPROPERTIES ('format-version'='3')",
        "ALTER TABLE lakebed.spark.variants ADD COLUMN v variant",
        "CREATE VIEW lakebed.spark.looks AS SELECT id FROM lakebed.spark.variants",
    ]
    answers = iter(ask_spark(extra, requests))
    seen: dict[str, dict[str, str]] = {}
    for change, action in cells:
        rows: list[Row] = []
        for _ in (*change.does, "SELECT"):  # type: ignore[misc]
            rows = next(answers)
        target = open_table(tmp_path, f"spark.{key(action, change)}")
        seen.setdefault(change.name, {})[action] = judge(target, change, action, rows)
        if "statistics" in change.name:
            assert target.existing_table().metadata.statistics, "they are left as they are"
        if "branch" in change.name:
            assert {"closed", "other"} <= target.existing_table().metadata.refs.keys()
    keep_or_compare("Spark", seen)
    with pytest.raises(TargetError, match="type variant, which PyIceberg does not know"):
        extra.state()
    with pytest.raises(TargetError, match="looks is a view"):
        open_table(tmp_path, "spark.looks").state()


def ask_spark(target: IcebergTarget, statements: list[str]) -> list[list[Row]]:
    """What one session of Spark with Iceberg's runtime answers to each statement."""
    found = jars(RUNTIME, SQLITE_DRIVER)
    if isinstance(found, str):
        pytest.skip(found)
    conf = {**spark_conf(target.settings), "spark.jars": ",".join(map(str, found))}
    del conf["spark.jars.packages"]
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "iceberg_runtime_session.py")],
        input=json.dumps({"conf": conf, "statements": statements}),
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    answer = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert answer, done.stderr[-6000:]
    return json.loads(answer[0].removeprefix("RESULT"))  # type: ignore[no-any-return]
