"""The load on Spark: one task a file, Arrow inside the task, only facts come back.

DataFrame API only, so that classic Spark and Spark Connect both run it.
"""

import threading
import uuid
from collections.abc import Sequence
from typing import TypeVar

from pyspark.sql import SparkSession

from lakebed.engines.protocols.load import CompactJob, ConvertJob, CountJob, FileDone, LoadProgress
from lakebed.engines.shared.results import (
    combine,
    conversion_of,
    count_tasks,
    counted,
    for_workers,
    largest_first,
    raise_first,
)
from lakebed.engines.spark.tasks import run_tasks
from lakebed.errors import EngineError, LakebedError
from lakebed.kernels.compact import CompactTasks
from lakebed.kernels.copy import CopiedBytes, CopyTasks
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.worker import ConvertTasks, Notes, RewriteTasks
from lakebed.model import AnySlice, Compacted, Converted, DataFile, SourceFile, Staging, Totals, WrittenFile

_POLL_SECONDS = 0.5
_File = TypeVar("_File", SourceFile, DataFile)


class SparkEngine:
    """Runs the load on a Spark session, classic or Connect. Whoever opened the session closes it."""

    name = "spark"

    def __init__(self, session: SparkSession, storage: StorageSettings | None = None) -> None:
        self._session = session
        self._storage = (storage or StorageSettings()).resolved()

    def copy(self, pairs: Sequence[tuple[str, str]]) -> list[CopiedBytes | LakebedError]:
        """A task copies one file."""
        results = run_tasks(
            self._session, CopyTasks(tuple(pairs), self._storage), len(pairs), doing=_of(len(pairs), "copy")
        )
        return [one for one in results if isinstance(one, CopiedBytes | LakebedError)]

    def convert(self, job: ConvertJob, progress: LoadProgress | None = None) -> Converted:
        """Converts every file of the job, the largest first, or raises what the first bad file raised."""
        order = largest_first(job.files)
        ordered = [job.files[position] for position in order]
        conversion = conversion_of(job, self._storage)
        tasks = ConvertTasks(conversion, tuple(ordered), uuid.uuid4().hex)
        watch = _Watch(Notes(job.staging.folder, self._storage, tasks.run), ordered, progress)
        with watch:
            results = _in_order(
                run_tasks(self._session, tasks, len(ordered), doing=_of(len(ordered), "convert")), order
            )
        raise_first(results)
        parts = [result for result in results if isinstance(result, Converted)]
        if len(parts) != len(ordered):
            raise EngineError(f"Spark returned facts of {len(parts)} files instead of {len(ordered)}")
        return combine(parts)

    def rewrite(
        self, files: Sequence[DataFile], staging: Staging, *, without: AnySlice | None = None
    ) -> tuple[WrittenFile, ...]:
        """The rows of these files in the staging's schema, leaving out the rows of a slice."""
        order = largest_first(files)
        tasks = RewriteTasks(
            staging,
            self._storage,
            tuple(for_workers(files[position]) for position in order),
            without.values if without else None,
        )
        results = _in_order(run_tasks(self._session, tasks, len(order), doing=_of(len(order), "rewrite")), order)
        raise_first(results)
        return tuple(file for written in results if isinstance(written, tuple) for file in written)

    def count(self, job: CountJob) -> Totals:
        """Rows and exact sums of the committed files, a task for each."""
        files = len(job.files)
        return counted(
            run_tasks(self._session, count_tasks(job, self._storage), files, doing=_of(files, "count")), files
        )

    def compact(self, job: CompactJob) -> tuple[Compacted, ...]:
        """Makes one file of each pack, a task for each."""
        packs = tuple(tuple(for_workers(file) for file in pack) for pack in job.packs)
        tasks = CompactTasks(job.staging, self._storage, packs, job.sort_by)
        doing = f"{_of(sum(len(pack) for pack in packs), 'put')} together into {len(packs)}"
        results = run_tasks(self._session, tasks, len(packs), doing=doing)
        raise_first(results)
        return tuple(result for result in results if isinstance(result, Compacted))


def _of(files: int, verb: str) -> str:
    return f"{verb} {files} file{'' if files == 1 else 's'}"


def _in_order(results: Sequence[object], order: Sequence[int]) -> list[object]:
    """Results of the tasks, back in the order of the job's files."""
    by_position = dict(zip(order, results, strict=True))
    return [by_position[position] for position in range(len(order))]


class _Watch:
    """Reports progress while the job runs, from the notes that tasks leave: Spark has no way that Connect has too."""

    def __init__(self, notes: Notes, files: Sequence[SourceFile], progress: LoadProgress | None) -> None:
        self._notes = notes
        self._files = files
        self._progress = progress
        self._reported: set[int] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> None:
        if self._progress is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._stop.set()
            self._thread.join()
            self._report()

    def _poll(self) -> None:
        while not self._stop.wait(_POLL_SECONDS):
            self._report()

    def _report(self) -> None:
        assert self._progress is not None
        for number, rows in self._notes.finished().items():
            if number not in self._reported:
                self._reported.add(number)
                self._progress(FileDone(self._files[number], rows))
