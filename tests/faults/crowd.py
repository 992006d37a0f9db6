"""Run as a program: eight load a month each, four merge, and readers look at the same table all the while.

crowd.py TARGET FOLDER SOURCE    SOURCE has nine months of a bill; the oldest is loaded first, alone
"""

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from tests.faults.places import Place, open_place
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.errors import LakebedError
from lakebed.state import database
from lakebed.targets.duckdb.target import DuckDBTarget

MONTHS = 9
ROWS = 12
TURNS = 2
MERGERS = 4
BATCH = 5
COLUMNS = ("lakebed_period", "lakebed_delivery", "identity_line_item_id")


def months() -> list[str]:
    return [f"2026-{number:02d}" for number in range(10 - MONTHS + 1, 11)]


def load(place: Place, source: str, period: str) -> None:
    report = lakebed.run(source, place.address, workdir=place.workdir, period=period)
    if errors := [one.error for one in report.deliveries if one.error]:
        raise LakebedError("\n".join(errors))
    assert [one.state for one in report.deliveries if not one.skipped] == ["loaded"]


def merge(place: Place, writer: int) -> None:
    for turn in range(TURNS):
        rows = pa.table(
            {
                "identity_line_item_id": [f"{writer}-{turn}-{number}" for number in range(BATCH)],
                "lakebed_payer": ["merged"] * BATCH,
                "lakebed_report": ["merged"] * BATCH,
                "lakebed_period": [f"1999-{writer:02d}"] * BATCH,
                "lakebed_delivery": [f"writer {writer}"] * BATCH,
            }
        )
        done = lakebed.merge(rows, place.address, keys="identity_line_item_id", engine="arrow", workdir=place.workdir)
        assert (done.inserted, done.total) == (BATCH, done.before + BATCH)


def look(place: Place) -> Counter[str]:
    """Rows of each month; every month and every batch is there whole or not at all, and nothing twice."""
    found = lakebed.read(place.address, workdir=place.workdir, columns=COLUMNS)
    table = found if isinstance(found, pa.Table) else found.to_table()
    ids = table["identity_line_item_id"].to_pylist()
    assert len(set(ids)) == len(ids), "a row is there twice"
    counts = Counter(table["lakebed_period"].to_pylist())
    for period, count in counts.items():
        whole = ROWS if period.startswith("2026") else BATCH
        assert count % whole == 0, (period, count)
    return counts


def keep_looking(place: Place) -> None:
    """Until everybody else is done; what was there stays there."""
    before: Counter[str] = Counter()
    while not (place.folder / "done").exists():
        now = look(place)
        assert before <= now, (before, now)
        before = now


def fork(name: str, act: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        act()
        code = 0
    finally:
        if code:
            sys.stderr.write(f"{name}:\n")
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def ended(children: list[int]) -> list[int]:
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


def main() -> None:
    target, folder, source = sys.argv[1:]
    use_arrow()
    # However busy the machine: what this is about is what is lost, not who waits too long.
    database.BUSY_SECONDS = 3600
    (DuckDBTarget.__init__.__kwdefaults__ or {})["wait_seconds"] = 3600
    place = open_place(target, Path(folder), None)
    place.enter()
    first, *others = months()
    ends = {"first": ended([fork("the first load", lambda: load(place, source, first))])}
    readers = [fork("a reader", lambda: keep_looking(place)) for _ in range(2)]
    loaders = [fork(f"the load of {one}", lambda one=one: load(place, source, one)) for one in others]
    mergers = [fork(f"merger {one}", lambda one=one: merge(place, one)) for one in range(1, MERGERS + 1)]
    ends |= {"loaders": ended(loaders), "mergers": ended(mergers)}
    (place.folder / "done").touch()
    ends["readers"] = ended(readers)
    reading, writing = os.pipe()
    ended([fork("the last look", lambda: os.write(writing, json.dumps(look(place)).encode()))])
    sys.stdout.write(json.dumps({"ends": ends, "counts": json.loads(os.read(reading, 65536))}))


if __name__ == "__main__":
    main()
