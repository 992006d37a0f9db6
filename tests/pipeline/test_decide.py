"""What happens to a delivery, given what its slice holds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakebed.model import Delivery, Slice, SourceFile
from lakebed.pipeline.decide import Held, decide

FILE = SourceFile("/x/a.csv", "a.csv", "csv", "none", 10)
WHOLE = Delivery(
    Slice("1", "cur", "2026-09"), "new", "cur", "m.json", (), (FILE,), created_at=datetime(2026, 10, 5, tzinfo=UTC)
)
TORN = replace(WHOLE, missing=("b.csv",))
EARLIER = datetime(2026, 10, 1, tzinfo=UTC)
LATER = datetime(2026, 10, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("delivery", "held", "strict", "action"),
    [
        (WHOLE, None, False, "load"),
        (TORN, None, False, "load"),
        (TORN, None, True, "refuse"),
        (WHOLE, Held("new", 5, True), False, "skip"),
        (WHOLE, Held("new", 5, False), False, "replace"),
        (TORN, Held("new", 5, False), False, "skip"),
        (WHOLE, Held("old", 5, True, EARLIER), False, "replace"),
        (WHOLE, Held("old", 5, True, None), False, "replace"),
        (WHOLE, Held("newest", 5, True, LATER), False, "skip"),
        (TORN, Held("old", 5, True, EARLIER), False, "refuse"),
        (TORN, Held("old", 5, False, EARLIER), False, "replace"),
    ],
)
def test_decisions(delivery: Delivery, held: Held | None, strict: bool, action: str) -> None:
    assert decide(delivery, held, strict=strict).action == action


def test_a_refusal_names_the_missing_file_and_the_delivery_that_stays() -> None:
    reason = decide(TORN, Held("old", 5, True, EARLIER)).reason
    assert "1 of 2 files are missing (b.csv)" in reason
    assert "complete delivery old" in reason
