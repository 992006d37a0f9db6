"""What a change costs depends on what it changes, not on what the table has been through."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.call_counts import count_calls
from tests.support.iceberg_tables import open_table, rows_of

from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import Policy
from lakebed.table.evolve import apply
from lakebed.table.merge import merge
from lakebed.targets.iceberg import manifests
from lakebed.targets.iceberg.target import IcebergTarget


def put(target: IcebergTarget, id_: int, **columns: list[object]) -> None:
    merge(pa.table({"id": [id_], **columns}), target, keys="id", engine="arrow")


def calls_of(act: Callable[[], object]) -> int:
    with count_calls() as count:
        act()
    return count.calls


def manifest_count(target: IcebergTarget) -> int:
    table = target.existing_table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return len(snapshot.manifests(table.io))


def test_updates_of_one_file_leave_no_manifests_behind(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    for number in range(12):
        put(target, 1, n=[number])
    assert manifest_count(target) == 2, "what arrived, and what left just now"
    assert rows_of(target) == [{"id": 1, "n": 11}]


def test_manifests_are_merged_when_there_are_many(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    put(target, 0)
    with target.existing_table().transaction() as transaction:
        transaction.set_properties({"commit.manifest.min-count-to-merge": "4"})
    counts = []
    for number in range(1, 13):
        put(target, number)
        counts.append(manifest_count(target))
    assert max(counts) <= 4
    put(target, 5, n=[1])
    assert manifest_count(target) <= 4, "an update merges them too"
    assert sorted(int(str(row["id"])) for row in rows_of(target)) == list(range(13))


def test_a_commit_calls_as_much_after_many_as_after_few(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    calls = {}
    for number in range(1, 61):
        calls[number] = calls_of(lambda number=number: put(target, 1, n=[number]))
    # A snapshot is a line of the metadata, which is read and written whole: a few calls each.
    assert calls[60] < calls[10] + 50 * 40, calls


def test_a_merge_that_adds_columns_grows_with_the_columns(tmp_path: Path) -> None:
    calls = {}
    for width in (200, 400, 800):
        target = open_table(tmp_path / str(width))
        put(target, 1, **{f"c{number}": [number] for number in range(width)})
        new = {f"n{number}": [number] for number in range(50)}
        calls[width] = calls_of(lambda target=target, new=new: put(target, 1, **new))
    assert calls[800] < 2.1 * calls[400] < 2.1 * 2.1 * calls[200]


def test_schema_changes_in_a_row_do_not_copy_what_came_before(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    put(target, 1)
    policy, calls = Policy(rules=target.capabilities.rules), {}
    for number in range(1, 41):
        schema = from_arrow_schema(pa.schema([(f"c{number}", pa.int64())]))
        calls[number] = calls_of(lambda schema=schema: apply(target, lambda _: schema, policy))
    # Every schema that a table ever had is in its metadata, so that the catalog reads and writes all of them.
    assert calls[40] < 8 * calls[10]


def test_metadata_files_are_bounded(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    put(target, 0)
    with target.existing_table().transaction() as transaction:
        transaction.set_properties({"write.metadata.previous-versions-max": "3"})
    for number in range(8):
        put(target, 1, n=[number])
    folder = Path(target.existing_table().location().removeprefix("file://")) / "metadata"
    assert len(list(folder.glob("*.metadata.json"))) <= 4


def test_manifests_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_table(tmp_path)
    for number in range(5):
        put(target, number)
    read: list[str] = []
    fetch = manifests.ManifestFile.fetch_manifest_entry

    def counted(self: manifests.ManifestFile, *args: object, **options: object) -> object:
        read.append(self.manifest_path)
        return fetch(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(manifests.ManifestFile, "fetch_manifest_entry", counted)
    put(open_table(tmp_path), 2, n=[7])
    assert len(read) == len(set(read)), "each at most once"


def test_what_is_remembered_of_manifests_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "REMEMBERED_BYTES", 1)
    monkeypatch.setattr(manifests, "_remembered", type(manifests._remembered)())
    target = open_table(tmp_path)
    for number in range(4):
        put(target, number)
    assert len(manifests._remembered) == 1
    assert len(rows_of(target)) == 4
