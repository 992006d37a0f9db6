"""SIGINT and SIGTERM end a command in order: the work unwinds, what was begun is given up, what is done stays.

A commit is not cut in two: a signal that comes during one takes effect when the ledger has heard of it. Supervisors
send SIGKILL to a process that does not end in time, so a second SIGTERM changes nothing; a second Ctrl-C, which is a
person who does not want to wait, ends the process at once. Both are safe: the next run clears up.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Raised in the main thread when a signal asks the command to end; its notes say how far it got."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(f"interrupted by {number.name}")
        self.signal = number

    @property
    def exit_code(self) -> int:
        """As shells report a process that a signal ended."""
        return 128 + self.signal

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints of it."""
        return {"type": "Interrupted", "message": self.told, "signal": self.signal.name}

    @property
    def told(self) -> str:
        """The one line for the user."""
        notes = getattr(self, "__notes__", [])
        return f"{self}: {' '.join(notes) or 'what was committed stays, everything else is as it was.'}"


class Interrupts:
    """The signals of this process while a command runs."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None
        self._held = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Signals raise Interrupted inside; so does whatever else ends the block after one has come."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._received, self._held = None, False
        before = {number: signal.signal(number, self._receive) for number in SIGNALS}
        try:
            yield
        except BaseException as error:
            # Libraries answer a signal with errors of their own: DuckDB says that its query was interrupted.
            received = self._pending()
            if received is None or isinstance(error, Interrupted):
                raise
            raise Interrupted(received) from error
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pending(self) -> signal.Signals | None:
        return self._received

    def hold(self) -> None:
        """From here on a signal waits for `release`."""
        self._held = True

    def release(self) -> None:
        """Signals count again, one that has come meanwhile too."""
        self._held = False
        if self._received is not None and threading.current_thread() is threading.main_thread():
            raise Interrupted(self._received)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        self._received = signal.Signals(number)
        if not self._held:
            raise Interrupted(self._received)


INTERRUPTS = Interrupts()


@contextmanager
def leaving_promptly() -> Iterator[None]:
    """Leaves the process with what a signal's exit code is, without taking the interpreter down.

    Everything of ours is closed by then; threads of libraries whose work was cut short may still be in native code,
    and Python aborts when such a thread comes back while it finalizes.
    """
    try:
        yield
    except SystemExit as ended:
        if ended.code not in [128 + number for number in SIGNALS]:
            raise
        code = int(ended.code or 0)
    except KeyboardInterrupt:  # before a command has begun
        code = 128 + signal.SIGINT
    else:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
