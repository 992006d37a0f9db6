"""What a worker has: its Python, its pyarrow, and whether it can gunzip fast."""

import platform
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec

import pyarrow as pa

WORKER_FACTS = "executable string, python string, pyarrow string, isal boolean"


def worker_facts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row for each batch of any input."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict(
            {
                "executable": [sys.executable],
                "python": [platform.python_version()],
                "pyarrow": [pa.__version__],
                "isal": [find_spec("isal") is not None],
            }
        )
