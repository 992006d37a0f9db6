"""What happens to a delivery, given what its slice holds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakebed.model import Delivery, Slice, SourceFile
from lakebed.pipeline.decide import CurrentDelivery, decide

FILE = SourceFile("/x/a.csv", "a.csv", "csv", "none", 10)
WHOLE = Delivery(
    Slice("1", "cur", "2026-09"), "new", "cur", "m.json", (), (FILE,), created_at=datetime(2026, 10, 5, tzinfo=UTC)
)
TORN = replace(WHOLE, missing=("b.csv",))
EARLIER = datetime(2026, 10, 1, tzinfo=UTC)
LATER = datetime(2026, 10, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("delivery", "current", "strict", "action"),
    [
        (WHOLE, None, False, "load"),
        (TORN, None, False, "load"),
        (TORN, None, True, "refuse"),
        (WHOLE, CurrentDelivery("new", True), False, "skip"),
        (WHOLE, CurrentDelivery("new", False), False, "replace"),
        (TORN, CurrentDelivery("new", False), False, "skip"),
        (WHOLE, CurrentDelivery("old", True, EARLIER), False, "replace"),
        (WHOLE, CurrentDelivery("old", True, None), False, "replace"),
        (WHOLE, CurrentDelivery("newest", True, LATER), False, "skip"),
        (TORN, CurrentDelivery("old", True, EARLIER), False, "refuse"),
        (TORN, CurrentDelivery("old", False, EARLIER), False, "replace"),
    ],
)
def test_decisions(delivery: Delivery, current: CurrentDelivery | None, strict: bool, action: str) -> None:
    assert decide(delivery, current, strict=strict).action == action


def test_a_refusal_names_the_missing_file_and_the_delivery_that_stays() -> None:
    reason = decide(TORN, CurrentDelivery("old", True, EARLIER)).reason
    assert "1 of 2 files are missing (b.csv)" in reason
    assert "complete delivery old" in reason
