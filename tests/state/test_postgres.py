"""The same ledger on a real PostgreSQL server, where this machine has one."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from lakebed.errors import ClaimHeld, StateError
from lakebed.model import Delivery, Slice
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome, SchemaChange, SumRecord

pytestmark = pytest.mark.server
TABLE = "iceberg:billing.report"
SLICE = Slice("000123456789", "hourly", "2026-09")


def tool(name: str) -> str | None:
    found = shutil.which(name)
    return found or next((str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    initdb, server = tool("initdb"), tool("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed here")
    # The server refuses to run as root.
    user = "nobody" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="lakebed-postgres-") as folder, socket.socket() as free:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data = f"{folder}/data"
        subprocess.run(
            [initdb, "-D", data, "-U", "lakebed", "-A", "trust", "--no-sync"],
            user=user,
            check=True,
            capture_output=True,
        )
        command = [server, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off"]
        process = subprocess.Popen(command, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _await(port, process)
            yield f"postgresql+psycopg://lakebed@127.0.0.1:{port}/postgres"
        finally:
            # The fast way to shut down: the other one waits for connections that a pool still holds.
            process.send_signal(signal.SIGINT)
            process.wait()


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("PostgreSQL did not start")


def ready(open_ledger: Callable[[], Ledger]) -> Ledger:
    """The server accepts connections a moment before it answers them."""
    while True:
        try:
            return open_ledger()
        except StateError as starting:
            if "starting up" not in str(starting):
                raise
            time.sleep(0.1)


def test_reading_where_there_is_no_ledger_yet_makes_none(postgres: str) -> None:
    for _ in range(2):
        assert ready(lambda: Ledger.read(postgres)).deliveries() == ()


def test_a_load_is_remembered_claimed_and_superseded(postgres: str) -> None:
    ledger = ready(lambda: Ledger.open(postgres))
    deliveries = [Delivery(SLICE, name, "cur", None, (), ()) for name in ("a1", "a2")]
    ledger.record_discovered(deliveries, source="s3://bucket")
    ledger.record_discovered(deliveries, source="s3://bucket")
    for delivery in ("a1", "a2"):
        outcome = LoadOutcome(
            rows=2,
            files=1,
            seconds=0.1,
            version="1",
            identities={"lineItem/Cost": "line_item_cost", delivery: delivery},
            schema_changes=(SchemaChange("added", delivery, "text"),),
            sums=(SumRecord("cost", "USD", Decimal("1E-18"), Decimal("1E-18")),),
        )
        with ledger.claim_load(TABLE, SLICE) as claim:
            with pytest.raises(ClaimHeld):
                Ledger.open(postgres).claim_load(TABLE, SLICE)
            ledger.begin_load(claim, TABLE, SLICE, delivery)
            ledger.open_staging(claim, f"/staging/{delivery}", table=TABLE)
            ledger.finish_load(claim, TABLE, SLICE, delivery, outcome)
    reader = Ledger.read(postgres)
    assert [(load.delivery, load.state) for load in reader.loads(TABLE)] == [("a1", "superseded"), ("a2", "loaded")]
    assert [one.name for one in reader.identities(TABLE)] == ["line_item_cost", "a1", "a2"]
    assert reader.sums(TABLE, SLICE, "a2")[0].source == Decimal("1E-18")
    assert [orphan.folder for orphan in reader.orphans()] == ["/staging/a1", "/staging/a2"]
    with pytest.raises(StateError, match="read-only"):
        reader.set_state(SLICE, "a1", "failed")


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StateError) as refused:
        Ledger.open("postgresql+psycopg://me:hush@127.0.0.1:1/none")
    assert "127.0.0.1" in str(refused.value)
    assert "hush" not in str(refused.value)
