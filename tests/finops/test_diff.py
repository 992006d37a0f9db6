"""Why a month differs: parts that add up to the difference exactly, before and after the load, in every format."""

import random
from collections import defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.finops.conftest import Bucket, Line
from tests.support.file_trees import everything

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, NotFound, SchemaError, TargetError
from lakebed.finops.diff_lines import diff_lines, markdown, total_lines

COST = "line_item_unblended_cost"
MONTH = "2025-03"
FIRST, SECOND = "20250401T000000Z", "20250407T000000Z"
Group = tuple[str, str | None, str | None, str | None]


def random_month(draw: random.Random) -> list[Line]:
    return [
        Line(
            Decimal(draw.randint(-(10**9), 10**12)).scaleb(-draw.choice((2, 11))),
            draw.choice(("USD", "USD", "EUR")),
            draw.choice(("000000000001", "000000000002", "")),
            draw.choice(("AmazonEC2", "AmazonS3", "")),
            draw.choice(("Usage", "Tax", "Credit")),
            draw.choice(("blue", "green", "")),
        )
        for _ in range(draw.randint(20, 60))
    ]


def truth(lines: list[Line]) -> dict[Group, tuple[int, Decimal]]:
    groups: dict[Group, tuple[int, Decimal]] = defaultdict(lambda: (0, Decimal(0)))
    for line in lines:
        key = (line.currency, line.account or None, line.service or None, line.team or None)
        groups[key] = (groups[key][0] + 1, groups[key][1] + line.cost)
    return dict(groups)


def two_months(bucket: Bucket, seed: int) -> tuple[list[Line], list[Line]]:
    draw = random.Random(seed)
    before, after = random_month(draw), random_month(draw)
    bucket.deliver(MONTH, FIRST, before)
    return before, after


def money(lines: list[Line], code: str) -> Decimal:
    return sum((line.cost for line in lines if line.currency == code), Decimal(0))


def files_of(folder: Path) -> dict[str, bytes]:
    """What lies there, but for the ledger, which is opened, and for empty folders."""
    found = {path: held for path, (_, _, held) in everything(folder).items() if Path(path).is_file()}
    return {path: held for path, held in found.items() if "ledger" not in path}


def check(found: lakebed.Diff, before: list[Line], after: list[Line]) -> None:
    old, new = truth(before), truth(after)
    parts = {(part.currency, *part.values): part for part in (*found.parts, *found.remainder)}
    changed = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    assert set(parts) == changed
    assert found.unchanged == len({*old, *new} - changed)
    for key, part in parts.items():
        assert (part.before.rows, part.before.sums.get(COST, 0)) == old.get(key, (0, 0))
        assert (part.after.rows, part.after.sums.get(COST, 0)) == new.get(key, (0, 0))
        assert part.kind == ("came" if key not in old else "went" if key not in new else "changed")
    for code in ("USD", "EUR"):
        said = sum(part.difference(COST) for part in parts.values() if part.currency == code)
        assert said == money(after, code) - money(before, code)
        assert said == found.difference[code][COST]
    sizes = [abs(part.difference(COST)) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert [part.values for part in found.remainder] == [(None, None, None)] * len(found.remainder)
    for limit in (None, 0, 3):
        lines = diff_lines(found, limit)
        for total in total_lines(found):
            assert sum(line.difference[0] for line in lines if line.currency == total.currency) == total.difference[0]


def test_before_the_load_and_after_it(bucket: Bucket, target: str) -> None:
    before, after = two_months(bucket, 3)
    bucket.run(target, retain="all")
    bucket.deliver(MONTH, SECOND, after, more={"resourceTags/user:new": "x"})
    standing = files_of(bucket.folder)
    by = ["account", "service", "tag:team"]
    planned = lakebed.diff(target, period=MONTH, to=bucket.folder / "bucket", by=by)
    check(planned, before, after)
    assert (planned.before.delivery, planned.after.delivery) == (FIRST, SECOND)
    assert files_of(bucket.folder) == standing, "it wrote something"
    assert lakebed.diff(target, period=MONTH, to=bucket.folder / "bucket", by=["tag:new"]).parts[0].values == ("x",)
    bucket.day = datetime(2025, 4, 7, tzinfo=UTC)
    bucket.run(target)
    done = lakebed.diff(target, period=MONTH, by=by)
    check(done, before, after)
    assert done.parts == planned.parts
    back = lakebed.diff(target, period=MONTH, from_=SECOND, to=FIRST, by=by)
    assert back.difference["USD"][COST] == -done.difference["USD"][COST]
    again = lakebed.diff(target, period=MONTH, to=bucket.folder / "bucket", by=by)
    assert again.equal
    assert markdown(again).count("No group differs") == 1


def test_words_and_names_that_mean_nothing(bucket: Bucket) -> None:
    target = "parquet:bill"
    two_months(bucket, 1)
    bucket.run(target)
    source = bucket.folder / "bucket"
    with pytest.raises(SchemaError, match=r"no column for acount\s.*account"):
        lakebed.diff(target, period=MONTH, to=source, by=["acount"])
    with pytest.raises(SchemaError, match="no number column"):
        lakebed.diff(target, period=MONTH, to=source, columns=["line_item_usage_account_id"])
    with pytest.raises(NotFound, match=f"never held a delivery nobody.*\n.*{FIRST}"):
        lakebed.diff(target, period=MONTH, from_="nobody", to=FIRST)
    with pytest.raises(NotFound, match=f"no delivery of .* before {FIRST}"):
        lakebed.diff(target, period=MONTH)
    with pytest.raises(NotFound, match="nothing of 2024-01"):
        lakebed.diff(target, period="2024-01")
    for name in ("lineItem/UsageAccountId", "line_item_usage_account_id", "account"):
        found = lakebed.diff(target, period=MONTH, to=source, by=[name])
        assert found.originals[name] == ("lineItem/UsageAccountId",)


def test_the_delivery_that_is_gone_is_named(bucket: Bucket) -> None:
    _, after = two_months(bucket, 1)
    bucket.run("duckdb:costs.duckdb#bill")
    bucket.deliver(MONTH, SECOND, after)
    bucket.run("duckdb:costs.duckdb#bill")
    with pytest.raises(TargetError, match=f"delivery {FIRST} .* not retained"):
        lakebed.diff("duckdb:costs.duckdb#bill", period=MONTH)


def test_a_month_that_the_table_does_not_have_came_whole(bucket: Bucket) -> None:
    two_months(bucket, 1)
    bucket.run("parquet:bill")
    bucket.deliver("2025-04", SECOND, [Line(Decimal("1.25"))])
    found = lakebed.diff("parquet:bill", period="2025-04", to=bucket.folder / "bucket")
    assert [(part.kind, part.rows) for part in found.parts] == [("came", 1)]
    assert (found.before.delivery, found.difference) == (None, {"USD": {COST: Decimal("1.25")}})


def test_a_name_breaks_no_table_of_markdown(bucket: Bucket) -> None:
    bucket.deliver(MONTH, FIRST, [Line(Decimal(1), team="a|b <script>`*")])
    bucket.run("parquet:bill")
    bucket.deliver(MONTH, SECOND, [Line(Decimal(2), team="a|b <script>`*")])
    text = markdown(lakebed.diff("parquet:bill", period=MONTH, to=bucket.folder / "bucket", by=["tag:team"]))
    assert "a\\|b &lt;script&gt;\\`\\*" in text
    assert "**+1**" in text


@pytest.mark.parametrize("naming", ["spec", "athena"])
@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_words_mean_the_same_in_every_format(
    kind: lakebed.SampleKind, naming: str, bucket: Bucket, tmp_path: Path
) -> None:
    lakebed.sample(tmp_path / "bills", months=2, rows=120, columns=90, kind=kind)
    lakebed.run(tmp_path / "bills", "parquet:report", naming=naming, period="2026-09")  # type: ignore[arg-type]
    rows = lakebed.read("parquet:report")
    table = rows if isinstance(rows, pa.Table) else rows.to_table()
    cost = sum(table[COST].to_pylist())
    lakebed.sample(tmp_path / "more", months=2, rows=150, columns=90, kind=kind, seed=2)
    words = ["account", "service", "line_item_type", "region", "tag:owner"]
    found = lakebed.diff("parquet:report", period="2026-09", to=tmp_path / "more", by=words)
    assert sum(sums[COST] for sums in found.before.sums.values()) == cost
    for place in range(len(words)):
        assert len({part.values[place] for part in found.parts}) > 1, words[place]


def test_two_bills_of_a_month_must_be_told_apart(bucket: Bucket, tmp_path: Path) -> None:
    for report in ("one", "two"):
        lakebed.sample(tmp_path / report, months=1, rows=20, columns=80, report=report, restate=False)
        lakebed.run(tmp_path / report, "duckdb:costs.duckdb", table="bill")
    with pytest.raises(ConfigError, match="2 bills of 2026-10"):
        lakebed.diff("duckdb:costs.duckdb#bill", period="2026-10")
    found = lakebed.diff("duckdb:costs.duckdb#bill", period="2026-10", report="one", to=tmp_path / "one")
    assert found.equal


@pytest.mark.spark
def test_spark_counts_the_same_groups(bucket: Bucket, spark_local: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is converted and the table's files are counted by Spark's workers."""
    monkeypatch.setattr("lakebed.table.slice_totals.WORKERS_FROM_BYTES", 0)
    before, after = two_months(bucket, 5)
    bucket.run("iceberg:billing.bill", retain="all")
    bucket.deliver(MONTH, SECOND, after, files=3)
    by, source = ["account", "service", "tag:team"], bucket.folder / "bucket"
    planned = lakebed.diff("iceberg:billing.bill", period=MONTH, to=source, by=by, spark=spark_local.spark)
    check(planned, before, after)
    bucket.run("iceberg:billing.bill")
    done = lakebed.diff("iceberg:billing.bill", period=MONTH, by=by, spark=spark_local.spark)
    check(done, before, after)
    day = lakebed.read("iceberg:billing.bill", as_of=bucket.day, spark=spark_local.spark)
    assert day.count() == lakebed.sums("iceberg:billing.bill", as_of=bucket.day, spark=spark_local.spark).totals.rows
