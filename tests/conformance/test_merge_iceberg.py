"""Every engine, merging into Iceberg tables: affected files only, in one snapshot with the schema change."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.iceberg_tables import load, open_table, plan, rows_of, write
from tests.support.s3_server import S3Server
from tests.support.strangers import attach_rest, duckdb_with_iceberg

from lakebed.schema.arrow import from_arrow_schema
from lakebed.table.merge import merge
from lakebed.targets.base import Change, Target
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.testing.merge import MergeConformance


def fill(target: IcebergTarget, rows: pa.Table, partition_by: Sequence[str]) -> None:
    """The rows in two files for each partition."""
    state = target.state()
    evolution = plan(target, state, from_arrow_schema(rows.schema))
    staging = target.stage(state, evolution, partition_by=partition_by)
    parts = [rows]
    for name in partition_by:
        values = rows[name].unique().to_pylist()
        parts = [
            part.filter(pc.is_null(part[name]) if value is None else pc.equal(part[name], value))
            for part in parts
            for value in values
        ]
    halves = [half for part in parts for half in (part.slice(0, part.num_rows // 2), part.slice(part.num_rows // 2))]
    written = [write(half, staging, path=f"{number}.parquet") for number, half in enumerate(halves) if half.num_rows]
    target.commit(state, staging, Change(evolution, tuple(written)))


class IntoIceberg(MergeConformance):
    exact_types = False

    @pytest.fixture(autouse=True)
    def _workdir(self, tmp_path: Path) -> None:
        self.workdir = tmp_path

    def create(self, existing: pa.Table | None, partition_by: Sequence[str] = ()) -> Target:
        target = IcebergTarget("merged", "costs", CatalogSettings.for_workdir(self.workdir))
        if existing is not None:
            fill(target, existing, partition_by)
        return target

    def snapshot(self, target: Target) -> object:
        return target.state().version


class TestArrowIntoIceberg(IntoIceberg):
    engine = "arrow"


class TestDuckDBIntoIceberg(IntoIceberg):
    engine = "duckdb"


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_merge_rewrites_one_file_and_adds_a_column_in_one_snapshot(tmp_path: Path, engine: str) -> None:
    target = open_table(tmp_path)
    for first in (0, 100, 200):
        load(target, pa.table({"id": list(range(first, first + 100)), "name": ["old"] * 100}))
    before = target.existing_table()
    untouched = {file.uri for file in target.state().files}
    result = merge(pa.table({"id": [150], "name": ["new"], "tag": ["x"]}), target, keys="id", engine=engine)
    after = target.existing_table()
    assert (result.updated, result.files_rewritten, result.files_kept) == (1, 1, 2)
    assert len(after.snapshots()) == len(before.snapshots()) + 1
    assert len(untouched & {file.uri for file in target.state().files}) == 2
    assert after.current_snapshot().summary["lakebed.merge.strategy"] == "upsert"
    assert [row for row in rows_of(target) if row["id"] == 150] == [{"id": 150, "name": "new", "tag": "x"}]
    assert target.state().rows == 300


@pytest.mark.server
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_a_merge_after_strangers_deleted_and_renamed(
    tmp_path: Path, s3_server: S3Server, engine: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A row that DuckDB deleted beside our file does not come back, and a column that it renamed keeps its values."""
    name = f"strangers.merged_{engine}"
    target = open_table(tmp_path, name, storage=s3_server.settings, **s3_server.catalog_properties)
    load(target, pa.table({"id": [1, 2, 3], "name": ["a", "b", "c"]}))
    duck = duckdb_with_iceberg()
    attach_rest(duck, s3_server)
    duck.execute(f"DELETE FROM lake.{name} WHERE id = 2")
    duck.execute(f"ALTER TABLE lake.{name} RENAME COLUMN name TO title")
    from lakebed.storage import Storage

    source = pa.table({"id": [2, 3], "late": ["two", "three"]})
    storage = Storage(s3_server.settings)
    snapshots = len(target.snapshots())
    merge(source, target, keys="id", engine=engine, storage=storage, dry_run=True)
    assert "this dry run counts them as they are" in caplog.text
    assert len(target.snapshots()) == snapshots
    result = merge(source, target, keys="id", engine=engine, storage=storage)
    assert (result.inserted, result.updated, result.before, result.total) == (1, 1, 2, 3)
    assert rows_of(target) == [
        {"id": 1, "title": "a", "late": None},
        {"id": 2, "title": None, "late": "two"},
        {"id": 3, "title": "c", "late": "three"},
    ]
