"""The same ledger on a real PostgreSQL server, where this machine has one."""

import time
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest
from tests.support.postgres import postgres_server

from lakebed.errors import ClaimHeld, StateError
from lakebed.model import Delivery, Slice
from lakebed.state.ledger import Ledger
from lakebed.state.records import LoadOutcome, SchemaChange, SumRecord

pytestmark = pytest.mark.server
TABLE = "iceberg:billing.report"
SLICE = Slice("000123456789", "hourly", "2026-09")


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


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
