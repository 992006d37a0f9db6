"""Keeps what Spark's JVM prints off the user's terminal, and at hand for when it fails to start."""

import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

# pyspark logs every exception to stderr as JSON before it raises it; whoever catches it knows better what to say.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@dataclass(frozen=True)
class JvmLog:
    """The file behind the JVM's output: a named one, or one that vanishes with the process."""

    file: BinaryIO

    @classmethod
    def open(cls, path: str | None) -> "JvmLog":
        if path is None:
            return cls(tempfile.TemporaryFile(prefix="lakebed-spark-"))
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return cls(Path(path).open("ab+"))

    def close(self) -> None:
        """The JVM keeps a descriptor of its own."""
        self.file.close()

    def tail(self, lines: int = 15) -> str:
        """The last lines that Spark wrote."""
        size = os.fstat(self.file.fileno()).st_size
        start = max(0, size - 16_384)
        text = os.pread(self.file.fileno(), size - start, start).decode(errors="replace")
        return "\n".join(text.splitlines()[-lines:])


@contextmanager
def starting_quietly(log: JvmLog) -> Iterator[None]:
    """The JVM that is started inside writes to the log; this process keeps its own stdout and stderr.

    The JVM announces its incubator modules, and Spark its log profile, before any setting of theirs can hush them, and
    pyspark offers no way to say where the JVM's output goes: it inherits ours. So descriptors 1 and 2 are the log while
    it starts, and `sys.stdout` and `sys.stderr` write to copies of what they were.
    """
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with _descriptor_to(log, 1, "stdout"), _descriptor_to(log, 2, "stderr"), warnings.catch_warnings():
        # A Connect server of our own gets its settings twice: at its start, where they count, and again from the
        # client, where those that cannot change any more are warned about.
        warnings.filterwarnings("ignore", message="Failed to set ", category=UserWarning)
        yield


@contextmanager
def _descriptor_to(log: JvmLog, descriptor: int, stream_name: str) -> Iterator[None]:
    stream = getattr(sys, stream_name)
    if stream is not None:
        stream.flush()
    kept = os.dup(descriptor)
    replacement: io.TextIOWrapper | None = None
    if _writes_to(stream, descriptor):
        raw = io.FileIO(kept, "w", closefd=False)
        replacement = io.TextIOWrapper(raw, encoding=stream.encoding, errors="backslashreplace", write_through=True)
        setattr(sys, stream_name, replacement)
    os.dup2(log.file.fileno(), descriptor)
    try:
        yield
    finally:
        if replacement is not None and getattr(sys, stream_name) is replacement:
            setattr(sys, stream_name, stream)
        os.dup2(kept, descriptor)
        os.close(kept)


def _writes_to(stream: object, descriptor: int) -> bool:
    """False in notebooks and under capture, where Python's streams are no descriptors and need no copy."""
    try:
        return stream.fileno() == descriptor  # type: ignore[attr-defined, no-any-return]
    except (AttributeError, OSError, ValueError):
        return False
