"""The steps of a run: each is logged with its seconds, and what a delivery's steps took is in its report."""

import logging
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed.model import Slice

log = logging.getLogger(__name__)

_NOTHING: Mapping[str, str] = MappingProxyType({})
_SUBJECT: ContextVar[Mapping[str, str]] = ContextVar("lakebed_subject", default=_NOTHING)


def log_subject() -> Mapping[str, str]:
    """Which run, payer, report and period the work of this moment belongs to: what every line of the log tells."""
    return _SUBJECT.get()


class Steps:
    """Times the steps of one run, delivery by delivery."""

    def __init__(self) -> None:
        self.run = uuid.uuid4().hex
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of_delivery(self, slice_: "Slice") -> Iterator[None]:
        """The steps inside are this delivery's."""
        self.seconds = {}
        with self._about({"run": self.run, **_names(slice_)}):
            yield

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times a step, and logs its end or its failure. A step that comes several times is added up."""
        started = time.monotonic()
        ended = "failed"
        with self._about({"run": self.run, **log_subject()}):
            log.debug("%s begins", name, extra={"step": name})
            try:
                yield
                ended = "done"
            finally:
                seconds = round(time.monotonic() - started, 3)
                self.seconds[name] = round(self.seconds.get(name, 0.0) + seconds, 3)
                log.info("%s %s in %.3f s", name, ended, seconds, extra={"step": name, "seconds": seconds})

    @contextmanager
    def _about(self, subject: Mapping[str, str]) -> Iterator[None]:
        before = _SUBJECT.set(subject)
        try:
            yield
        finally:
            _SUBJECT.reset(before)


def _names(slice_: "Slice") -> dict[str, str]:
    return {"payer": slice_.payer, "report": slice_.report, "period": slice_.period}
