"""A program: a writer of an Iceberg table is killed at every step, then `lakebed sweep` runs; prints what it left.

`python -m tests.faults.sweeping TARGET SERVER COMMAND FOLDER SOURCE [POINT...]`, the server as JSON.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyiceberg.table import Table
from tests.faults.child import in_child, require
from tests.faults.commands import (
    compact,
    evolve,
    load,
    load_before,
    load_nothing,
    load_one_month,
    merge_old,
    merge_piece_by_piece,
    merge_with,
    write,
)
from tests.faults.places import Place, open_place
from tests.faults.points import Points, step_of
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.pipeline.progress import Observer
from lakebed.storage import Storage
from lakebed.targets.iceberg.files import plain_path
from lakebed.targets.iceberg.orphans import used_files
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.workspace import Workspace


def merge_and_tag(place: Place, source: Path) -> None:
    """Two snapshots, the older one with a tag and a branch, whose files must stay."""
    merge_old(place, source)
    lakebed.merge(pa.table({"id": [1, 2], "v": ["b", "b"]}), place.address, keys="id", workdir=place.workdir)
    table = target_of(place).existing_table()
    first, *_ = table.snapshots()
    table.manage_snapshots().create_tag(first.snapshot_id, "first").create_branch(first.snapshot_id, "audit").commit()


def roll_back(place: Place, source: Path, observer: Observer) -> None:
    first, *_ = target_of(place).snapshots()
    lakebed.rollback(place.address, first.id, workdir=place.workdir)


def expire(place: Place, source: Path, observer: Observer) -> None:
    lakebed.sweep(place.address, expire_days=0, workdir=place.workdir)


def create_by_write(place: Place, source: Path, observer: Observer) -> None:
    lakebed.write(pa.table({"id": [1]}), place.address, workdir=place.workdir)


COMMANDS: dict[str, tuple[Callable[[Place, Path], object], Callable[[Place, Path, Observer], object]]] = {
    "first load": (load_nothing, load_one_month),
    "load": (load_before, load),
    "merge": (merge_and_tag, merge_with("arrow")),
    "merge on DuckDB": (merge_and_tag, merge_with("duckdb")),
    "evolve": (merge_and_tag, evolve),
    "first write": (load_nothing, create_by_write),
    "write": (merge_and_tag, write),
    "compact": (merge_piece_by_piece, compact),
    "rollback": (merge_and_tag, roll_back),
    "expire": (merge_piece_by_piece, expire),
}


def target_of(place: Place) -> IcebergTarget:
    target = Workspace.open({"workdir": str(place.workdir)}).target(place.address)
    assert isinstance(target, IcebergTarget)
    return target


def rows_by_snapshot(table: Table | None) -> dict[str, int]:
    """Every snapshot can still be read, to its last row."""
    if table is None:
        return {}
    return {
        str(snapshot.snapshot_id): table.scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows
        for snapshot in table.snapshots()
    }


def unknown_files(target: IcebergTarget) -> list[str]:
    """What lies in the table's folders though nothing names it."""
    table = target.table()
    used = set() if table is None else used_files(table)
    places, storage = target._places(), Storage(target.key_ring)
    listed = [plain_path(entry.uri) for place in places for entry in storage.list(place)]
    return sorted(uri for uri in listed if uri not in used)


def age(target: IcebergTarget) -> None:
    """A metadata file alone is given an hour, however little `older_than_days` says."""
    old = (datetime.now(UTC) - timedelta(hours=2)).timestamp()
    for one in target._places():
        for path in Path(plain_path(one)).glob("metadata/*.metadata.json"):
            os.utime(path, (old, old))


def sweep(place: Place) -> dict[str, object]:
    age(target_of(place))
    before = rows_by_snapshot(target_of(place).table())
    left = unknown_files(target_of(place))
    listed = lakebed.sweep(place.address, older_than_days=0, dry_run=True, workdir=place.workdir)
    untouched = unknown_files(target_of(place))
    swept = lakebed.sweep(place.address, older_than_days=0, workdir=place.workdir)
    folders = [
        str(folder) for one in target_of(place)._places() for folder in Path(plain_path(one)).glob("data/lakebed-*")
    ]
    return {
        "left": left,
        "dry_run_kept": untouched == left,
        "listed": sorted(map(plain_path, listed.files)),
        "swept": sorted(map(plain_path, swept.files)),
        "unknown": unknown_files(target_of(place)),
        "empty_folders": [folder for folder in folders if not any(Path(folder).iterdir())],
        "same_rows": rows_by_snapshot(target_of(place).table()) == before,
    }


def main(target: str, server: str, command: str, folder: str, source: str, *points: str) -> None:
    prepare, act = COMMANDS[command]
    use_arrow()
    place = open_place(target, Path(folder), json.loads(server))
    place.enter()
    require(lambda: prepare(place, Path(source)), "the old state")
    place.save()

    def rehearse() -> list[str]:
        passed = Points("none")
        act(place, Path(source), passed.watch())
        return passed.passed

    rehearsed = require(rehearse, "the rehearsal")
    for point in points or [point for point in rehearsed if point == step_of(point)]:
        if not place.renew():
            require(lambda: prepare(place, Path(source)), f"the old state before {point}")
        status, _ = in_child(lambda point=point: act(place, Path(source), Points(point).watch()))  # type: ignore[misc]
        found = require(lambda: sweep(place), f"the sweep after {point}")
        sys.stdout.write(json.dumps({"point": point, "killed": status == 9, **found}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
