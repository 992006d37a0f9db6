"""The steps of a run: each is logged with its seconds, and what a delivery's steps took is in its report."""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakebed.subject import working_on

if TYPE_CHECKING:
    from lakebed.model import Slice

log = logging.getLogger(__name__)


class Steps:
    """Times the steps of one run, delivery by delivery."""

    def __init__(self) -> None:
        self.run = uuid.uuid4().hex
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of_delivery(self, slice_: "Slice") -> Iterator[None]:
        """The steps inside are this delivery's."""
        self.seconds = {}
        with working_on({"run": self.run, "task": "load", **_names(slice_)}):
            yield

    def credit(self, name: str, seconds: float) -> None:
        """What a step of this delivery took before its turn."""
        self.seconds[name] = round(self.seconds.get(name, 0.0) + seconds, 3)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times a step, and logs its end or its failure. A step that comes several times is added up."""
        started = time.monotonic()
        ended = "failed"
        with working_on({"run": self.run}):
            log.debug("%s begins", name, extra={"step": name})
            try:
                yield
                ended = "done"
            finally:
                seconds = round(time.monotonic() - started, 3)
                self.credit(name, seconds)
                log.info("%s %s in %.3f s", name, ended, seconds, extra={"step": name, "seconds": seconds})


def _names(slice_: "Slice") -> dict[str, str]:
    return {"payer": slice_.payer, "report": slice_.report, "period": slice_.period}
