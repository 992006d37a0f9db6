"""What another engine does to a table of ours between two of our commits, what we do next, and what must come of it.

`docs/iceberg.md` holds the table that the tests write or are held against.
"""

import fcntl
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

import lakebed
from lakebed.errors import ConcurrentModification, LakebedError
from lakebed.storage import Storage
from lakebed.targets.iceberg.target import IcebergTarget
from tests.support import ROOT
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, rows_of

PAGE = ROOT / "docs" / "iceberg.md"
# Set it to write what is seen into the page instead of comparing it.
WRITES = "LAKEBED_WRITE_STRANGERS"
RIGHT = "right"
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])

Row = dict[str, object]


@dataclass(frozen=True)
class Change:
    """One thing that a stranger does. `does` is Spark's or DuckDB's statements with {t}, or a function of the target.

    `refused` has for an action of ours, or for all of them but reading, a piece of the message of the refusal.
    """

    name: str
    does: tuple[str, ...] | Callable[[IcebergTarget], None]
    refused: Mapping[str, str] = field(default_factory=dict)
    readable: bool = True  # what the stranger left can be read, if it is not written to


def make_table(target: IcebergTarget) -> None:
    """Six rows of two months, in two files and two snapshots."""
    for slice_, first in ((OCTOBER, 1), (NOVEMBER, 4)):
        rows = {
            "id": pa.array(range(first, first + 3), pa.int64()),
            "n": pa.array(range(first * 10, first * 10 + 3), pa.int32()),
            "note": [f"note {number}" for number in range(first, first + 3)],
            "st": pa.array([{"a": number, "b": "x"} for number in range(first, first + 3)], STRUCT),
        }
        load(target, pa.table(rows), slice_)


def act_load(target: IcebergTarget) -> None:
    rows = pa.table({"id": pa.array([7, 8], pa.int64()), "n": pa.array([70, 80], pa.int32()), "fresh": ["x", "y"]})
    try:
        load(target, rows, NOVEMBER)
    except ConcurrentModification:
        load(target, rows, NOVEMBER)  # what others covered was settled first, as the pipeline's retry finds it


def act_merge(target: IcebergTarget) -> None:
    rows = pa.table({"id": pa.array([1, 9], pa.int64()), "n": pa.array([100, 900], pa.int32())})
    lakebed.merge(rows, target, keys="id", engine="arrow", storage=Storage(target.settings.storage))


def act_evolve(target: IcebergTarget) -> None:
    lakebed.evolve(target, {"fresh": "string"})


def act_rollback(target: IcebergTarget) -> None:
    lakebed.rollback(target, target.snapshots()[0].id)


def act_write(target: IcebergTarget) -> None:
    rows = pa.table({"id": pa.array([12], pa.int64()), "n": pa.array([120], pa.int32()), "fresh": ["z"]})
    lakebed.write(rows, target, storage=Storage(target.settings.storage))


def act_compact(target: IcebergTarget) -> None:
    lakebed.compact(target)


def act_read(target: IcebergTarget) -> None:
    lakebed.read(target)


ACTIONS: dict[str, Callable[[IcebergTarget], None]] = {
    "read": act_read,
    "load": act_load,
    "merge": act_merge,
    "write": act_write,
    "compact": act_compact,
    "evolve": act_evolve,
    "rollback": act_rollback,
}


def expected_rows(action: str, seen: Sequence[Row]) -> list[Row]:
    """What the table holds after our action, from what the stranger read in it before."""
    rows = [dict(row) for row in seen]
    if action == "load":
        ours = NOVEMBER.values | {"lakebed_delivery": "delivery-1"}
        rows = [row for row in rows if row["lakebed_period"] != NOVEMBER.period]
        rows += [{"id": 7, "n": 70, "fresh": "x", **ours}, {"id": 8, "n": 80, "fresh": "y", **ours}]
    elif action == "merge":
        for row in rows:
            if row["id"] == 1:
                row["n"] = 100
        rows.append({"id": 9, "n": 900})
    elif action == "write":
        rows.append({"id": 12, "n": 120, "fresh": "z"})
    elif action == "evolve":
        rows[0]["fresh"] = None
    names = sorted({name for row in rows for name in row})
    return sorted(({name: row.get(name) for name in names} for row in rows), key=str)


def judge(target: IcebergTarget, change: Change, action: str, seen: Sequence[Row]) -> str:
    """Does our action and says what came of it; raises where that is neither right nor a refusal that was expected."""
    reason = change.refused.get(action) or (change.refused.get("all") if action != "read" else None)
    before = target.existing_table().metadata_location if reason and target.settings.exists else None
    said: str | None = None
    try:
        ACTIONS[action](target)
    except LakebedError as refusal:
        said = str(refusal)
    assert (said is None) is (reason is None), f"{change.name}, {action}: {said or f'was to be refused, {reason}'}"
    if said is not None and reason is not None:
        assert reason in said, f"{change.name}, {action}: {said}"
        assert target.existing_table().metadata_location == before, "a refusal leaves the table as it was"
        if change.readable:
            assert rows_of(target) == sorted((dict(row) for row in seen), key=str), "and what it holds can be read"
        return f"refused: {reason}"
    found = [dict(sorted(row.items())) for row in rows_of(target)]
    if action == "rollback":
        assert sorted(str(row["id"]) for row in found) == ["1", "2", "3"], change.name
        assert {name for row in seen for name in row} <= set(found[0]), "no column goes"
        return RIGHT
    assert sorted(found, key=str) == expected_rows(action, seen), f"{change.name}, {action}"
    return RIGHT


def keep_or_compare(stranger: str, seen: Mapping[str, Mapping[str, str]]) -> None:
    """Writes a stranger's table into the page if asked to; otherwise the page must say the same."""
    head = f"| {stranger} does | {' | '.join(ACTIONS)} |\n|{'---|' * (len(ACTIONS) + 1)}\n"
    lines = [
        f"| {change} | {' | '.join(actions.get(action, '·') for action in ACTIONS)} |"
        for change, actions in seen.items()
    ]
    table = head + "\n".join(lines) + "\n"
    section = re.compile(rf"(<!-- stranger: {re.escape(stranger)} -->\n).*?(<!-- end -->)", re.DOTALL)
    with PAGE.open("r+", encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        text = PAGE.read_text(encoding="utf-8")
        found = section.search(text)
        assert found is not None, f"docs/iceberg.md has no place for {stranger}"
        if os.environ.get(WRITES):
            PAGE.write_text(section.sub(lambda place: place[1] + table + place[2], text), encoding="utf-8")
            return
    known = found[0].removeprefix(found[1]).removesuffix(found[2])
    assert known == table, f"look at what changed, and run again with {WRITES}=1"
