"""The flags of the command line that say yes beforehand, and the exit codes without them."""

import json

import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text
from typer.testing import CliRunner

from lakebed.cli import build

COST = "lineItem/UnblendedCost"


def command(bills: Bills, *arguments: str) -> tuple[int, dict[str, object]]:
    given = [*arguments, "--target", bills.target, "--json"]
    done = CliRunner().invoke(build(given), given)
    return done.exit_code, json.loads(done.stdout)


def run(bills: Bills, *flags: str) -> int:
    return command(bills, "run", str(bills.folder / "bucket"), *flags)[0]


@pytest.fixture
def loaded(bills: Bills) -> Bills:
    bills.deliver(csv_text(*(f"{row},1,USD,prod" for row in range(9))))
    assert run(bills) == 0
    return bills


def test_a_missing_column_and_a_shrunken_month_need_a_yes(loaded: Bills) -> None:
    header = [name for name in TYPES if name != COST]
    loaded.deliver(csv_text("a,USD,prod", header=header), assembly="20261004T000000Z")
    assert run(loaded) == 1
    assert run(loaded, "--allow-missing", COST) == 1
    assert run(loaded, "--allow-missing", COST, "--accept-shrink") == 0


def test_what_does_not_add_up_exits_with_one_until_it_is_reloaded(loaded: Bills) -> None:
    loaded.execute("DELETE FROM bill WHERE identity_line_item_id = '3'")
    bucket = str(loaded.folder / "bucket")
    assert run(loaded) == 1
    assert command(loaded, "reconcile")[0] == 1
    assert command(loaded, "reconcile", "--source", bucket)[0] == 1
    assert command(loaded, "plan", bucket, "--reload")[1]["deliveries"][0]["action"] == "replace"  # type: ignore[index]
    assert run(loaded, "--reload", "--period", "2026-09") == 0
    assert run(loaded) == 0
    assert command(loaded, "reconcile", "--source", bucket)[0] == 0
