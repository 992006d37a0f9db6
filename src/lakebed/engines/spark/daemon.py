"""Spark's Python daemon for local sessions: the same one, without the archives that its workers read before every task.

A worker invalidates Python's import caches when a task begins, and Python 3.11 then reads the directory of every
archive on its path again: pyspark.zip and spark-core's jar have thousands of entries, 0.18 s of CPU a task. The package
that pip installed, in which they lie, holds all that they do. The JVM starts `python -m lakebed.engines.spark.daemon`.
"""

import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_ARCHIVES = (".zip", ".jar")


def startable() -> bool:
    """Whether a Python that the JVM starts finds this module: it is installed, and not only on this process's path."""
    try:
        distribution("lakebed")
    except PackageNotFoundError:
        return False
    return True


def without_copies(path: Sequence[str]) -> list[str]:
    """The path without archives that lie inside of the pyspark package which the rest of the path finds."""
    folders = [entry for entry in path if not entry.endswith(_ARCHIVES)]
    found = PathFinder.find_spec("pyspark", folders)
    if found is None or found.origin is None or PathFinder.find_spec("py4j", folders) is None:
        return list(path)
    package = Path(found.origin).parent
    return [entry for entry in path if not (entry.endswith(_ARCHIVES) and package in Path(entry).parents)]


def main() -> None:
    sys.path[:] = without_copies(sys.path)
    sys.path_importer_cache.clear()
    # Workers import the kernels that are shipped to them, here as on a cluster.
    for name in [name for name in sys.modules if name.partition(".")[0] == "lakebed"]:
        del sys.modules[name]
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
