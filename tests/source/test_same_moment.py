"""Of two deliveries of one month, which counts does not depend on luck."""

import os
from pathlib import Path

import pytest

from lakebed.samples import SampleSpec, make_sample
from lakebed.source.discover import find_deliveries
from lakebed.storage import Storage


@pytest.mark.parametrize("seed", range(6))
def test_of_two_deliveries_of_one_moment_the_later_id_counts(tmp_path: Path, seed: int) -> None:
    """Nothing but their ids tells them apart: the answer must at least be the same each time."""
    truth = make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(ids="uuid", seed=seed))
    next(tmp_path.glob("billing/*/*/*-Manifest.json")).unlink()
    for path in tmp_path.rglob("*"):
        os.utime(path, (1_800_000_000, 1_800_000_000))
    discovered = find_deliveries(str(tmp_path), Storage())
    first, second = sorted(each.delivery for each in truth.deliveries)
    assert [each.id for each in discovered.deliveries] == [second]
    assert [each.id for each in discovered.superseded] == [first]


@pytest.mark.parametrize("newest", [0, 1])
def test_of_two_ids_that_say_no_time_the_later_file_counts(tmp_path: Path, newest: int) -> None:
    truth = make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(ids="uuid"))
    next(tmp_path.glob("billing/*/*/*-Manifest.json")).unlink()
    for number, delivery in enumerate(truth.deliveries):
        for path in (tmp_path / delivery.manifest).parent.iterdir():
            os.utime(path, (1_800_000_000 + (number == newest),) * 2)
    discovered = find_deliveries(str(tmp_path), Storage())
    assert [each.id for each in discovered.deliveries] == [truth.deliveries[newest].delivery]
