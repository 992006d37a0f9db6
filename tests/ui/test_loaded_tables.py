"""What the explorer says of loaded bills: deliveries, reconciliation, columns by period, and sums to the last digit."""

from decimal import Decimal
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.support.arrow_runs import use_arrow
from tests.ui.test_api import client_of

import lakebed
from lakebed.ui.analyses import Sources
from lakebed.ui.table_views import presence


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bills")
    with pytest.MonkeyPatch.context() as patch:
        use_arrow(patch)
        lakebed.sample(folder / "source", months=3, rows=40, restate=True)
        lakebed.run(folder / "source", f"duckdb:{folder / 'costs.duckdb'}", workdir=folder / "work")
    return folder


@pytest.fixture(scope="module")
def client(bills: Path) -> TestClient:
    return client_of(Sources(workdir=str(bills / "work")))


def table_of(client: TestClient) -> str:
    [table] = client.get("/api/tables").json()["tables"]
    return str(table)


def test_every_load_says_what_its_reconciliation_found(client: TestClient, bills: Path) -> None:
    loads = client.get("/api/status").json()["loads"]
    assert {load["state"] for load in loads} >= {"loaded"}
    loaded = [load for load in loads if load["state"] == "loaded"]
    for load in loaded:
        key = {name: load[name] for name in ("table", "payer", "report", "period", "delivery")}
        found = client.get("/api/sums", params=key).json()
        assert found["reconciled"] is True
        assert found["source_rows"] == found["table_rows"] == load["rows"]
        assert found["sums"]
        assert all(Decimal(one["difference"]) == 0 for one in found["sums"])
        assert all(Decimal(one["source"]) == Decimal(one["table"]) for one in found["sums"])


def test_columns_by_period_are_those_of_the_table(client: TestClient) -> None:
    told = client.get("/api/columns", params={"table": table_of(client)}).json()
    assert told["periods"] == sorted(told["periods"])
    rows = lakebed.read(told["table"]).to_pylist()
    for place, period in enumerate(told["periods"]):
        of_period = [row for row in rows if row["lakebed_period"] == period]
        assert told["rows"][place] == len(of_period)
        for column in told["columns"]:
            assert column["values"][place] == sum(row[column["name"]] is not None for row in of_period)
    states = {state for column in told["columns"] for state in column["states"]}
    assert {"there", "new", "gone"} <= states
    cost = next(column for column in told["columns"] if column["name"].endswith("unblended_cost"))
    assert cost["originals"] == ["lineItem/UnblendedCost"]
    assert (cost["first"], cost["last"]) == (told["periods"][0], told["periods"][-1])


def test_amounts_add_up_to_the_last_digit_and_currencies_stay_apart(client: TestClient) -> None:
    table = table_of(client)
    told = client.get("/api/amounts", params={"table": table}).json()
    assert told["measure"].endswith("unblended_cost")
    rows = lakebed.read(table).to_pylist()

    def total(currency: str, **only: object) -> Decimal:
        chosen = [row for row in rows if row["line_item_currency_code"] == currency]
        for name, value in only.items():
            chosen = [row for row in chosen if row[name] == value]
        return sum((row[told["measure"]] or Decimal(0) for row in chosen), Decimal(0))

    totals = {row["currency"]: Decimal(row["total"]) for row in told["totals"]}
    assert totals == {currency: total(currency) for currency in ("EUR", "USD")}
    for row in told["totals"]:
        assert sum(map(Decimal, row["sums"])) == Decimal(row["total"])
    by = next(name for name in told["dimensions"] if name.endswith("product_code"))
    split = client.get("/api/amounts", params={"table": table, "by": by}).json()
    assert split["totals"] == told["totals"]
    for row in split["rows"]:
        assert Decimal(row["total"]) == total(row["currency"], **{by: row["value"]})


def test_what_a_table_does_not_have_is_told(client: TestClient) -> None:
    table = table_of(client)
    for asked in ({"measure": "no_such"}, {"by": "no_such"}, {"measure": '"; DROP TABLE x; --'}):
        answer = client.get("/api/amounts", params={"table": table, **asked})
        assert answer.status_code == 400
        assert "It has" in answer.json()["error"]["remedy"]


def test_what_becomes_of_a_column() -> None:
    def states(*values: int, retyped: int = -1) -> tuple[str, ...]:
        return presence(values, [place == retyped for place in range(len(values))])

    assert states(1, 1, 1, retyped=1) == ("there", "retyped", "there")
    assert states(0, 3, 0, 0, 2) == ("absent", "new", "gone", "absent", "back")
    assert states() == ()
