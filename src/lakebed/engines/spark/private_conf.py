"""Hands settings that hold secrets to Spark's JVM in a file: every user of the machine reads command lines."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lakebed.errors import ConfigError

_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_SHELL = "pyspark-shell"
_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", " ": "\\ ", "=": "\\=", ":": "\\:"})


@contextmanager
def private_conf(secrets: Mapping[str, str]) -> Iterator[None]:
    """A JVM that is launched inside the block has these settings; the file that tells them is gone after it."""
    if not secrets:
        yield
        return
    before = os.environ.get(_ARGUMENTS)
    if before and "--properties-file" in before:
        raise ConfigError(
            f"{_ARGUMENTS} names a properties file, and spark.conf of the settings holds secrets: {', '.join(secrets)}",
            remedy="Put them into that file, or leave it out.",
        )
    # Only this user may read what mkstemp makes.
    descriptor, path = tempfile.mkstemp(prefix="lakebed-spark-", suffix=".conf")
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.writelines(f"{_text(name)}={_text(value)}\n" for name, value in secrets.items())
        os.environ[_ARGUMENTS] = f"--properties-file {path} --load-spark-defaults {before or _SHELL}"
        yield
    finally:
        os.unlink(path)
        if before is None:
            del os.environ[_ARGUMENTS]
        else:
            os.environ[_ARGUMENTS] = before


def _text(text: str) -> str:
    """As Java's properties write it: what is not ASCII as \\uXXXX."""
    escaped = text.translate(_ESCAPED)
    return "".join(
        letter if ord(letter) < 128 else "".join(f"\\u{unit:04x}" for unit in _utf16(letter)) for letter in escaped
    )


def _utf16(letter: str) -> Iterator[int]:
    data = letter.encode("utf-16-be")
    return (int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
