"""Run as a process of its own by the crash and race tests: `kill WORKDIR STEP` or `race WORKDIR NUMBER ROUNDS`."""

import json
import os
import random
import sys
import time
from pathlib import Path

import pyarrow as pa

from lakebed.errors import ConcurrentModification
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Slice
from lakebed.schema.arrow import from_arrow_schema
from lakebed.state.ledger import Ledger
from lakebed.targets.base import Change
from tests.faults.points import Points
from tests.support.iceberg_tables import OCTOBER, load, of_slice, open_table, plan, write


def kill(workdir: Path, step: str) -> None:
    """A restated month with a new column, as the pipeline loads it, until the process dies."""
    target = open_table(workdir)
    with Ledger.open(workdir / "ledger.db") as ledger, ledger.claim_load(target.address, OCTOBER) as claim:
        state = target.state()
        rows = of_slice(pa.table({"id": ["new", "new"], "tag": ["x", "y"]}), OCTOBER, "delivery-2")
        evolution = plan(target, state, from_arrow_schema(rows.schema))
        staging = target.stage(state, evolution)
        ledger.open_staging(claim, staging.folder, table=target.address)
        written = write(rows, staging)
        Points(step).watch()
        target.commit(state, staging, Change(evolution, (written,), target.affected(state, OCTOBER).whole, OCTOBER))


def race(workdir: Path, number: int, rounds: int) -> None:
    """Loads one slice of its own after the other, each with a column of its own, against others who do the same."""
    settings = json.loads(os.environ.get("RACE_CATALOG", "{}"))
    storage = StorageSettings(**settings.pop("storage", {}))
    target = open_table(workdir, "race.costs", storage=storage, **settings)
    for turn in range(rounds):
        rows = pa.table({"id": [f"{number}-{turn}"], f"c_{number}_{turn}": [f"value {number}-{turn}"]})
        for attempt in range(60):
            try:
                load(target, rows, Slice(str(number), "report", f"2026-{turn + 1:02d}"))
                break
            except ConcurrentModification:
                time.sleep(random.uniform(0.02, 0.1 * min(attempt + 1, 10)))
        else:
            raise SystemExit(f"{number}-{turn} never got through")


if __name__ == "__main__":
    _, command, place, *rest = sys.argv
    if command == "kill":
        kill(Path(place), rest[0])
    else:
        race(Path(place), int(rest[0]), int(rest[1]))
