"""Which delivery of a month counts does not depend on the order in which a store lists its objects."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from lakebed.source.discover import DiscoverReport, find_deliveries
from lakebed.storage import Entry, Storage

START = datetime(2026, 10, 1, tzinfo=UTC)
UUIDS = st.uuids(version=4).map(str)


@dataclass(frozen=True)
class Made:
    """One delivery of September: its id, when it was made, and how many files it has."""

    id: str
    made: datetime
    files: int


def timed(minutes: int) -> str:
    return (START + timedelta(minutes=minutes)).strftime("%Y%m%dT%H%M%SZ")


class Bucket(Storage):
    """A bucket in memory, listed in any order: AWS's layout without AWS's order."""

    def __init__(self, objects: dict[str, tuple[bytes, datetime]], seed: int) -> None:
        super().__init__()
        self.objects = objects
        self.seed = seed

    def list(self, folder: str) -> Iterator[Entry]:
        names = sorted(self.objects)
        random.Random(self.seed).shuffle(names)
        for name in names:
            content, made = self.objects[name]
            yield Entry(name, len(content), str(hash(content)), made)

    def read(self, uri: str) -> bytes:
        return self.objects[uri][0]


def bucket(deliveries: list[Made], *, keep_top: bool, seed: int) -> Bucket:
    folder = "p/report/20260901-20261001"
    objects: dict[str, tuple[bytes, datetime]] = {}
    for delivery in sorted(deliveries, key=lambda each: each.made):
        keys = [f"{folder}/{delivery.id}/report-{number:05d}.csv.gz" for number in range(1, delivery.files + 1)]
        manifest = json.dumps(
            {
                "assemblyId": delivery.id,
                "account": "1",
                "reportName": "report",
                "billingPeriod": {"start": "20260901T000000.000Z", "end": "20261001T000000.000Z"},
                "bucket": "b",
                "reportKeys": keys,
            }
        ).encode()
        for key in keys:
            objects[f"s3://b/{key}"] = (b"data", delivery.made)
        objects[f"s3://b/{folder}/{delivery.id}/report-Manifest.json"] = (manifest, delivery.made)
        if keep_top:
            objects[f"s3://b/{folder}/report-Manifest.json"] = (manifest, delivery.made)
    return Bucket(objects, seed)


@st.composite
def histories(draw: st.DrawFn) -> list[Made]:
    minutes = draw(st.lists(st.integers(0, 40_000), min_size=1, max_size=6, unique=True))
    # An account moved from UUIDs to times at some point, or has one or the other all along.
    ordered = sorted(minutes)
    turn = draw(st.integers(0, len(ordered)))
    return [
        Made(draw(UUIDS) if index < turn else timed(minute), START + timedelta(minutes=minute), draw(st.integers(1, 3)))
        for index, minute in enumerate(ordered)
    ]


def outcome(discovered: DiscoverReport) -> tuple[list[str], list[str], tuple[str, ...]]:
    return [each.id for each in discovered.deliveries], [each.id for each in discovered.superseded], discovered.warnings


@given(histories(), st.booleans(), st.integers(0, 1_000))
def test_the_newest_counts_in_whatever_order_things_are_listed(history: list[Made], keep_top: bool, seed: int) -> None:
    discovered = find_deliveries("s3://b", bucket(history, keep_top=keep_top, seed=seed))
    newest = max(history, key=lambda each: each.made)
    assert [each.id for each in discovered.deliveries] == [newest.id]
    older = sorted((each for each in history if each is not newest), key=lambda each: each.made, reverse=True)
    assert [each.id for each in discovered.superseded] == [each.id for each in older]
    assert all(each.complete for each in (*discovered.deliveries, *discovered.superseded))
    assert discovered.warnings == ()


@given(histories(), st.integers(0, 1_000), st.integers(0, 1_000))
def test_two_listings_of_one_bucket_agree(history: list[Made], one: int, other: int) -> None:
    first = find_deliveries("s3://b", bucket(history, keep_top=True, seed=one))
    second = find_deliveries("s3://b", bucket(history, keep_top=True, seed=other))
    assert outcome(first) == outcome(second)
    assert first.deliveries == second.deliveries


@given(histories(), st.data())
def test_a_file_is_there_or_missing_and_never_another(history: list[Made], data: st.DataObject) -> None:
    store = bucket(history, keep_top=True, seed=0)
    files = [name for name in store.objects if name.endswith(".gz")]
    gone = data.draw(st.sets(st.sampled_from(files)))
    store.objects = {name: kept for name, kept in store.objects.items() if name not in gone}
    discovered = find_deliveries("s3://b", store)
    for delivery in (*discovered.deliveries, *discovered.superseded):
        assert {file.uri for file in delivery.files} == {
            name for name in files if delivery.id in name and name not in gone
        }
        assert {f"s3://b/{key}" for key in delivery.missing} == {name for name in gone if delivery.id in name}
