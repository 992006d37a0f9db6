"""What was known on a day: for every day the sums of the deliveries that were loaded by then, or a clear refusal."""

import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.finops.conftest import Bucket, Line

import lakebed
from lakebed.errors import ConfigError, TargetError
from lakebed.table.as_of import parse_moment
from lakebed.table.read import open_table
from lakebed.targets.iceberg.target import IcebergTarget

COST = "line_item_unblended_cost"
MONTHS = ("2025-01", "2025-02", "2025-03")
Truth = dict[str, tuple[str, list[Line]]]


def by_currency(lines: list[Line]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for line in lines:
        sums[line.currency] += line.cost
    return dict(sums)


def random_lines(draw: random.Random) -> list[Line]:
    return [
        Line(Decimal(draw.randint(-(10**6), 10**9)).scaleb(-draw.choice((2, 7, 11))), draw.choice(("USD", "EUR")))
        for _ in range(draw.randint(1, 6))
    ]


def history(bucket: Bucket, draw: random.Random, days: int) -> Iterator[tuple[Truth, dict[str, object]]]:
    """Day by day: what has come into the bucket, restated or late, and how it is to be loaded."""
    truth: Truth = {}
    for number in range(days):
        bucket.day = datetime(2025, 4, 1, 12, tzinfo=UTC) + timedelta(days=number)
        settings: dict[str, object] = {}
        for month in draw.sample(MONTHS, draw.randint(0, 2)):
            id_, lines = f"{bucket.day:%Y%m%dT%H%M%SZ}", random_lines(draw)
            more = {f"resourceTags/user:t{number}": "x"} if draw.random() < 0.3 else None
            bucket.deliver(month, id_, lines, more=more, files=draw.choice((1, 2)))
            truth = {**truth, month: (id_, lines)}
        if truth and draw.random() < 0.2:
            settings["reload"] = True
        yield truth, settings


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 8))])
def test_every_day_sums_up_to_what_was_loaded_by_then(bucket: Bucket, target: str, seed: int) -> None:
    draw, days = random.Random(seed), []
    for truth, settings in history(bucket, draw, 6):
        if truth:
            # Asked for once: a table that keeps what is replaced goes on with it.
            bucket.run(target, **settings, **({} if days else {"retain": "all"}))
            days.append((bucket.day, truth))
    assert lakebed.sums(target, as_of=days[0][0] - timedelta(days=1)).totals.rows == 0
    for day, truth in days:
        found = lakebed.sums(target, as_of=f"{day:%Y-%m-%d}")
        assert {one.period: one.delivery for one in found.loads} == {month: one[0] for month, one in truth.items()}
        for month, (_, lines) in truth.items():
            totals = found.periods[month]
            assert totals.rows == len(lines)
            assert {code: sums[COST] for code, sums in totals.by_currency.items()} == by_currency(lines)
        rows = lakebed.read(target, as_of=day, columns=[COST])
        assert isinstance(rows, pa.Table)
        assert sorted(rows[COST].to_pylist()) == sorted(line.cost for _, lines in truth.values() for line in lines)
    now = lakebed.sums(target)
    assert now.totals.rows == sum(len(lines) for _, lines in days[-1][1].values())
    assert all(one.current for one in now.loads)
    whole = lakebed.read(target, as_of=days[0][0])
    assert isinstance(whole, pa.Table)
    assert set(whole.column_names) == set(lakebed.read(target).schema.names)
    assert pc.sum(whole[COST]).as_py() == sum(line.cost for _, lines in days[0][1].values() for line in lines)


def restate(bucket: Bucket, day: int, cost: str, month: str = "2025-03") -> str:
    bucket.day = datetime(2025, 4, day, 12, tzinfo=UTC)
    id_ = f"202504{day:02d}T000000Z"
    bucket.deliver(month, id_, [Line(Decimal(cost))])
    return id_


def cost_on(target: str, day: str) -> Decimal:
    return lakebed.sums(target, as_of=day).totals.sums[COST]


def test_what_was_not_retained_is_named_and_never_a_wrong_sum(bucket: Bucket, target: str) -> None:
    first = restate(bucket, 1, "1.5")
    bucket.run(target)
    restate(bucket, 3, "2.5")
    bucket.run(target)
    with pytest.raises(TargetError, match=f"delivery {first} of bill 2025-03 .* not retained"):
        lakebed.sums(target, as_of="2025-04-02")
    with pytest.raises(TargetError, match=first):
        lakebed.read(target, as_of="2025-04-01")
    assert cost_on(target, "2025-04-03") == Decimal("2.5")
    assert cost_on(target, "2025-03-31") == 0


def test_months_that_are_over_are_let_go_by_the_next_run_and_by_sweep(bucket: Bucket, target: str) -> None:
    first = restate(bucket, 1, "1")
    bucket.run(target, retain="2 months")
    second = restate(bucket, 2, "2")
    bucket.run(target)
    assert cost_on(target, "2025-04-01") == 1
    bucket.day = datetime(2025, 6, 10, tzinfo=UTC)
    bucket.deliver("2025-03", "20250610T000000Z", [Line(Decimal(3))])
    bucket.run(target)
    with pytest.raises(TargetError, match=first):
        lakebed.sums(target, as_of="2025-04-01")
    assert cost_on(target, "2025-04-02") == 2
    # More than two months before the clock of the machine: a sweep lets it go, and says so first.
    for dry_run in (True, False):
        assert lakebed.sweep(target, dry_run=dry_run).forgotten == (f"bill 2025-03 of 111122223333: {second}",)
    assert lakebed.sweep(target).forgotten == ()
    with pytest.raises(TargetError, match=second):
        lakebed.sums(target, as_of="2025-04-02")
    assert cost_on(target, "2025-06-10") == 3


def test_rows_that_others_removed_are_missed(bucket: Bucket, target: str) -> None:
    first = restate(bucket, 1, "1")
    bucket.run(target, retain="all")
    restate(bucket, 2, "2")
    bucket.run(target)
    if target.startswith("duckdb"):
        with duckdb.connect("costs.duckdb") as connection:
            connection.execute("DELETE FROM bill_history")
    elif target.startswith("parquet"):
        for path in bucket.folder.glob("bill_history/**/*.parquet"):
            path.unlink()
    else:
        opened = open_table(target)
        assert isinstance(opened, IcebergTarget)
        table = opened.existing_table()
        [tag] = [name for name in table.metadata.refs if name != "main"]
        table.manage_snapshots().remove_tag(tag).commit()
    with pytest.raises(TargetError, match=first):
        lakebed.sums(target, as_of="2025-04-01")
    with pytest.raises(TargetError, match=first):
        lakebed.read(target, as_of="2025-04-01")
    assert cost_on(target, "2025-04-02") == 2


def test_a_table_that_was_loaded_before_there_was_a_log(
    bucket: Bucket, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger says since when; without it nothing does, and that is said."""
    first = restate(bucket, 1, "1")
    with monkeypatch.context() as patched:
        patched.setattr("lakebed.pipeline.commit.load_step", lambda *_: None)
        bucket.run(target)
    ledger = bucket.folder / ".lakebed" / "ledger.db"
    ledger.rename("away.db")
    with pytest.raises(TargetError, match=f"nothing says since when delivery {first}"):
        lakebed.sums(target, as_of="2025-04-02")
    assert lakebed.sums(target).totals.rows == 1
    bucket.folder.joinpath("away.db").rename(ledger)
    assert cost_on(target, "2025-04-02") == 0  # it was loaded later: the ledger's clock is the machine's
    second = restate(bucket, 3, "2")
    bucket.run(target, retain="all")
    log = open_table(target).state().log
    assert [(one.delivery, one.kept) for one in log.loads] == [(first, True), (second, False)]


def test_a_rollback_is_known_from_its_day(bucket: Bucket) -> None:
    target = "iceberg:billing.bill"
    restate(bucket, 1, "1")
    bucket.run(target, retain="all")
    restate(bucket, 2, "2")
    restate(bucket, 2, "5", month="2025-02")
    bucket.run(target)
    first = lakebed.history(target).snapshots[0]
    lakebed.rollback(target, first.id)
    assert [cost_on(target, day) for day in ("2025-04-01", "2025-04-02")] == [1, 7]
    assert lakebed.sums(target).totals.sums[COST] == 1
    # What the rollback took away is loaded again by the next run, and the day of the rollback is still told.
    lakebed.sweep(target, expire_days=0)
    assert [cost_on(target, day) for day in ("2025-04-01", "2025-04-02")] == [1, 7]


def test_sweep_keeps_the_snapshots_of_what_is_retained(bucket: Bucket) -> None:
    target = "iceberg:billing.bill"
    for day in (1, 2, 3):
        restate(bucket, day, str(day))
        bucket.run(target, retain="all")
    lakebed.sweep(target, expire_days=0, older_than_days=0)
    assert [cost_on(target, f"2025-04-0{day}") for day in (1, 2, 3)] == [1, 2, 3]
    lakebed.compact(target)
    assert [cost_on(target, f"2025-04-0{day}") for day in (1, 2, 3)] == [1, 2, 3]


def test_a_branch_has_loads_of_its_own_until_it_is_published(bucket: Bucket) -> None:
    target = "iceberg:billing.bill"
    restate(bucket, 1, "1")
    bucket.run(target, retain="all")
    restate(bucket, 2, "2")
    done = lakebed.run(bucket.folder / "bucket", f"{target}@audit", accept_shrink=True)
    assert not done.failed, done.deliveries[0].error
    assert cost_on(target, "2025-04-02") == 1
    assert cost_on(f"{target}@audit", "2025-04-02") == 2
    lakebed.publish(f"{target}@audit")
    assert cost_on(target, "2025-04-02") == 1
    assert lakebed.sums(target).totals.sums[COST] == 2


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2025-04-01", "2025-04-01T23:59:59.999999+00:00"), ("2025-04-01T12:00+02:00", "2025-04-01T10:00:00+00:00")],
)
def test_moments(text: str, moment: str) -> None:
    assert parse_moment(text).isoformat() == moment


@pytest.mark.parametrize("text", ["yesterday", "2025-13-01", "2025-04-01T99:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        parse_moment(text)


@pytest.mark.parametrize("rule", ["some", "0 months", "12 days", ""])
def test_a_rule_that_is_none_is_refused(bucket: Bucket, rule: str) -> None:
    with pytest.raises(ConfigError, match="retain"):
        bucket.run("parquet:bill", retain=rule)
