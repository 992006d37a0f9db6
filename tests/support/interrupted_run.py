"""Run as a program by test_interrupts.py: the `lakebed` command, which gets a real signal at a step of its run.

interrupted_run.py SIGNAL STEP ENGINE ARGUMENTS...

SIGNAL is a name such as SIGTERM. STEP is a method of the observer, `commit NAME` for a checkpoint of the commit, `job`
for the moment when a Spark job has begun, or `never`. ENGINE is `arrow`, which needs no JVM, or `spark`. When the
command is over, one line on stdout says whether a Spark session was left.
"""

import os
import signal
import sys
from collections.abc import Callable

from lakebed.checkpoints import watch_checkpoints
from lakebed.cli import main
from lakebed.cli.progress import ProgressBars
from tests.support.arrow_runs import use_arrow


def interrupt_at(step: str, number: signal.Signals) -> None:
    """Sends the signal to this process when the step is reached for the first time."""
    sent: list[str] = []

    def send(reached: str) -> None:
        if reached == step and not sent:
            sent.append(reached)
            os.kill(os.getpid(), number)

    if step == "job":
        from pyspark import InheritableThread

        start = InheritableThread.start

        def start_and_send(self: InheritableThread) -> None:
            start(self)
            send("job")

        InheritableThread.start = start_and_send  # type: ignore[method-assign]
    elif step.startswith("commit "):
        watch_checkpoints(lambda name: send(f"commit {name}"))
    elif step != "never":
        original: Callable[..., None] = getattr(ProgressBars, step)

        def method(self: ProgressBars, *arguments: object) -> None:
            send(step)
            original(self, *arguments)

        setattr(ProgressBars, step, method)


def say_whether_a_session_is_left() -> None:
    """On the way out that the command takes after a signal."""
    leave = os._exit

    def say_and_leave(code: int) -> None:
        from pyspark.sql import SparkSession

        left = SparkSession.getActiveSession() is not None
        sys.stdout.write("a session was left\n" if left else "no session was left\n")
        sys.stdout.flush()
        leave(code)

    os._exit = say_and_leave  # type: ignore[assignment]


if __name__ == "__main__":
    name, step, engine, *sys.argv[1:] = sys.argv[1:]
    if engine == "arrow":
        use_arrow()
    interrupt_at(step, signal.Signals[name])
    if engine == "spark":
        say_whether_a_session_is_left()
    main()
