"""Two runs at once never load one delivery twice, and a crashed run's claim is taken over. With real processes."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from lakebed.errors import ClaimHeld, StateError
from lakebed.model import Slice
from lakebed.state.claims import Holder
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome
from lakebed.state.tables import CLAIMS

TABLE = "iceberg:billing.report"
SLICE = Slice("1", "hourly", "2026-09")

HOLD = """
import sys
from pathlib import Path
from lakebed.model import Slice
from lakebed.state.ledger import Ledger
ledger = Ledger.open(Path(sys.argv[1]))
with ledger.claim_load("iceberg:billing.report", Slice("1", "hourly", "2026-09")) as claim:
    ledger.open_staging(claim, "/staging/of-the-crashed", table="iceberg:billing.report")
    print("held", flush=True)
    sys.stdin.read()
"""

RACE = """
import sys
from pathlib import Path
from lakebed.errors import ClaimHeld
from lakebed.model import Slice
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome
path, me = Path(sys.argv[1]), sys.argv[2]
table = "iceberg:billing.report"
print("ready", flush=True)
sys.stdin.readline()
ledger = Ledger.open(path)
for number in range(20):
    slice_ = Slice("1", "hourly", f"{number:04}")
    try:
        with ledger.claim_load(table, slice_) as claim:
            if ledger.current_load(table, slice_) is None:
                ledger.begin_load(claim, table, slice_, me)
                names = {f"{number}/{me}": "x", f"{number}": me}
                outcome = LoadOutcome(rows=1, files=1, seconds=0, version="1", identities=names)
                ledger.finish_load(claim, table, slice_, me, outcome)
                print(number, flush=True)
    except ClaimHeld:
        pass
"""


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.processes
def test_a_held_claim_names_its_holder_and_a_killed_holder_loses_it(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path)
    holder = start(HOLD, str(path))
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ClaimHeld) as refused:
            ledger.claim_load(TABLE, SLICE)
        assert refused.value.pid == holder.pid
        assert ledger.orphans() == ()
        # A stopped process is alive: its claim stays its own, however long it sleeps.
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(ClaimHeld):
            ledger.claim_load(TABLE, SLICE)
    finally:
        holder.kill()
        holder.communicate()
    assert [orphan.folder for orphan in ledger.orphans()] == ["/staging/of-the-crashed"]
    with ledger.claim_load(TABLE, SLICE) as claim:
        ledger.begin_load(claim, TABLE, SLICE, "a1")
    ledger.close_staging("/staging/of-the-crashed")
    assert ledger.orphans() == ()


@pytest.mark.processes
def test_processes_that_race_load_every_delivery_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    racers = [start(RACE, str(path), f"racer-{number}") for number in range(3)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outputs = [racer.communicate()[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    won = sorted(int(line) for output in outputs for line in output.splitlines())
    # A slice may be given up by all where each met another's claim; none may be loaded twice.
    assert len(won) == len(set(won))
    ledger = Ledger.open(path)
    assert {int(load.slice.period) for load in ledger.loads(TABLE)} == set(won)
    assert {load.state for load in ledger.loads(TABLE)} == {"loaded"}


def test_a_holder_on_another_machine_keeps_its_claim_while_its_heart_beats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow this machine is, the heart does not beat meanwhile, and a day has not passed.
    monkeypatch.setattr("lakebed.state.claims.HEARTBEAT_SECONDS", 3600.0)
    monkeypatch.setattr("lakebed.state.claims.LEASE", timedelta(days=1))
    ledger = Ledger.open(tmp_path / "ledger.db")
    with ledger.claim_load(TABLE, SLICE) as claim:
        with ledger._engine.begin() as connection:
            connection.execute(update(CLAIMS).values(host="elsewhere", pid=os.getpid()))
        with pytest.raises(ClaimHeld, match="elsewhere"):
            ledger.claim_load(TABLE, SLICE)
        with ledger._engine.begin() as connection:
            connection.execute(update(CLAIMS).values(seen_at=datetime.now(UTC) - timedelta(days=2)))
        with ledger.claim_load(TABLE, SLICE) as taken:
            # Whoever lost the claim may not write as if it still had it.
            with pytest.raises(StateError, match="was lost"):
                ledger.finish_load(claim, TABLE, SLICE, "a1", LoadOutcome(rows=1, files=1, seconds=0, version="1"))
            ledger.begin_load(taken, TABLE, SLICE, "a1")
    assert [load.state for load in ledger.loads(TABLE)] == ["loading"]


def test_a_heartbeat_renews_the_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.state.claims.HEARTBEAT_SECONDS", 0.05)
    ledger = Ledger.open(tmp_path / "ledger.db")
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with ledger.claim_load(TABLE, SLICE):
        with ledger._engine.begin() as connection:
            connection.execute(update(CLAIMS).values(seen_at=long_ago))
        seen = long_ago
        while seen == long_ago:
            time.sleep(0.01)
            with ledger._engine.begin() as connection:
                seen = connection.execute(CLAIMS.select()).one().seen_at
        assert seen > long_ago


def test_a_claim_is_free_after_its_block_even_when_that_failed(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "ledger.db")
    with pytest.raises(RuntimeError), ledger.claim_staging(SLICE, "a1"):
        raise RuntimeError("the copy broke")
    with ledger.claim_staging(SLICE, "a1"):
        pass


def test_a_living_process_is_not_dead_and_an_ended_one_is() -> None:
    """Dead is what certainly is: another machine's processes cannot be asked about."""
    me = Holder.this_process()
    assert not me.certainly_dead()
    # Its number belongs to another process by now.
    assert dataclasses.replace(me, process_started="1").certainly_dead()
    # Where the system does not say when a process started, its number has to do.
    assert not dataclasses.replace(me, process_started="").certainly_dead()
    child = os.fork()
    if child == 0:
        os._exit(0)
    gone = dataclasses.replace(me, pid=child)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert gone.certainly_dead(), "nobody has waited for it yet"
    os.waitpid(child, 0)
    assert gone.certainly_dead()
    assert not dataclasses.replace(gone, host="elsewhere").certainly_dead()


def test_a_process_of_another_user_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert not Holder.this_process().certainly_dead()
