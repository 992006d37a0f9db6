"""Tables of format version 3: read, and refused before any work where they would be written."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.iceberg_tables import load, open_table, rows_of

import lakebed
from lakebed.errors import LakebedError, TargetError
from lakebed.targets.iceberg.target import IcebergTarget

ROWS = pa.table({"id": [1, 2], "at": pa.array([datetime(2026, 10, 1)] * 2, pa.timestamp("us"))})


def upgraded(workdir: Path, change: Callable[[dict[str, Any]], None]) -> IcebergTarget:
    """A table as another engine leaves it: PyIceberg writes no version 3, so its metadata is made by hand from ours."""
    ours = open_table(workdir, "billing.older")
    load(ours, ROWS)
    made = Path(ours.existing_table().metadata_location.removeprefix("file://"))
    metadata = json.loads(made.read_text()) | {"format-version": 3, "next-row-id": 2}
    metadata["snapshots"][0] |= {"first-row-id": 0, "added-rows": 2}
    newer = made.with_name("00001-v3.metadata.json")
    newer.write_text(json.dumps(metadata))
    target = open_table(workdir, "billing.newer")
    target.catalog.register_table(target.identifier, str(newer))
    change(metadata)
    newer.write_text(json.dumps(metadata))
    return target


def add_field(metadata: dict[str, Any], **field: object) -> None:
    metadata["schemas"][0]["fields"].append({"required": False, **field})
    metadata["last-column-id"] += 1


def test_a_default_value_is_what_older_files_hold(tmp_path: Path) -> None:
    target = upgraded(
        tmp_path,
        lambda metadata: add_field(metadata, id=3, name="n", type="int", **{"initial-default": 5, "write-default": 5}),
    )
    assert [row["n"] for row in rows_of(target)] == [5, 5]
    assert target.read(["n"]).column("n").to_pylist() == [5, 5]  # type: ignore[union-attr]
    with pytest.raises(TargetError, match="default values"):
        target.scan_plan()


def test_nanoseconds_are_read(tmp_path: Path) -> None:
    def change(metadata: dict[str, Any]) -> None:
        metadata["schemas"][0]["fields"][1]["type"] = "timestamp_ns"

    target = upgraded(tmp_path, change)
    (file,) = target.state().files
    table = pq.read_table(file.uri)
    finer = table.schema.field("at").with_type(pa.timestamp("ns"))
    at = pa.array([1_790_000_000_123_456_789] * 2, pa.timestamp("ns"))
    pq.write_table(table.set_column(1, finer, at), file.uri)
    found = target.read()
    rows = found if isinstance(found, pa.Table) else found.to_table()
    assert rows.schema.field("at").type == pa.timestamp("ns")
    assert rows["at"].cast(pa.int64()).to_pylist() == [1_790_000_000_123_456_789] * 2


@pytest.mark.parametrize(
    "act",
    [
        lambda target: lakebed.merge(ROWS, target, keys="id", engine="arrow"),
        lambda target: lakebed.evolve(target, {"x": "int"}),
        lambda target: load(target, ROWS),
    ],
    ids=["merge", "evolve", "load"],
)
def test_what_would_write_is_refused_before_any_work(
    act: Callable[[IcebergTarget], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = upgraded(tmp_path, lambda metadata: None)
    before = {path for path in Path(tmp_path / "warehouse").rglob("*") if path.is_file()}
    with pytest.raises(TargetError, match="format version 3"):
        act(target)
    assert {path for path in Path(tmp_path / "warehouse").rglob("*") if path.is_file()} == before
    assert len(rows_of(target)) == 2


def test_types_that_are_not_known_are_named(tmp_path: Path) -> None:
    target = upgraded(tmp_path, lambda metadata: add_field(metadata, id=3, name="v", type="variant"))
    for act in (target.state, target.read, lambda: lakebed.merge(ROWS, target, keys="id", engine="arrow")):
        with pytest.raises(LakebedError, match="columns of type variant, which PyIceberg does not know"):
            act()
