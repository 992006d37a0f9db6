"""A restated month is the same bill, settled: the usage of before under other line item ids, and larger credits."""

import csv
import gzip
from decimal import Decimal
from pathlib import Path

import pytest

from lakebed.samples import SampleSpec, make_sample

COST = "lineItem/UnblendedCost"


def lines(root: Path, files: tuple[str, ...]) -> list[dict[str, str]]:
    texts = [gzip.decompress((root / file).read_bytes()).decode() for file in files]
    return [line for text in texts for line in csv.DictReader(text.splitlines(keepends=True))]


@pytest.mark.parametrize("seed", range(1, 11))
def test_a_restated_month_costs_about_what_it_did(tmp_path: Path, seed: int) -> None:
    truth = make_sample(tmp_path, spec=SampleSpec(months=2, rows=100, columns=63, seed=seed))
    first, restated = (delivery for delivery in truth.deliveries if delivery.period == "2026-09")
    before, after = first.totals.sums[COST], restated.totals.sums[COST]
    assert before != after
    # What a delivery loses before the guard against shrinking refuses it is half of its cost.
    assert Decimal("0.6") * before < after < Decimal("1.4") * before


def test_it_has_the_lines_of_before_under_other_ids(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, spec=SampleSpec(months=2, rows=60, columns=63))
    first, restated = (lines(tmp_path, delivery.files) for delivery in truth.deliveries if delivery.period == "2026-09")
    same = ("lineItem/LineItemType", "lineItem/UsageType", "lineItem/UsageAccountId", "lineItem/UsageStartDate")
    assert [[line[name] for name in same] for line in first] == [[line[name] for name in same] for line in restated]
    ids = "identity/LineItemId"
    assert not {line[ids] for line in first} & {line[ids] for line in restated}
