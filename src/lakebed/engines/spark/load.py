"""The load on Spark: one task a file, or a pack of small ones, Arrow inside the task, only facts come back.

DataFrame API only, so that classic Spark and Spark Connect both run it.
"""

import threading
import uuid
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from lakebed.engines.protocols.load import CompactJob, ConvertJob, CountJob, FileDone, InspectJob, LoadProgress
from lakebed.engines.shared.packs import large_files, pack_files, split_files
from lakebed.engines.shared.results import (
    combine,
    conversion_of,
    count_tasks,
    counted,
    cut_tasks,
    for_workers,
    in_order,
    inspection_of,
    largest_first,
    raise_first,
)
from lakebed.engines.spark.tasks import run_tasks
from lakebed.errors import EngineError, LakebedError
from lakebed.kernels.compact import CompactTasks
from lakebed.kernels.copy import CopiedBytes, CopyTasks
from lakebed.kernels.inspect import FileFacts, InspectTasks
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.worker import ConvertTasks, Notes, RewriteTasks, SeveralTasks
from lakebed.model import AnySlice, Compacted, Converted, DataFile, SourceFile, Staging, Totals, WrittenFile

_POLL_SECONDS = 0.5


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
        job = self._split(job)
        packs = pack_files(job.files)
        tasks = self._tasks(job, packs)
        with _Watch(Notes(job.staging.folder, self._storage, tasks.run), tasks.packs, progress):
            results = run_tasks(self._session, tasks, len(packs), doing=_of(len(job.files), "convert"))
        return _converted(results, packs)

    def _split(self, job: ConvertJob) -> ConvertJob:
        """The job with files that are large in parts, which tasks find by scanning them."""
        places = large_files(job.files)
        tasks = cut_tasks(job, places, self._storage)
        doing = _of(len(places), "look for ends of records in")
        parts = run_tasks(self._session, tasks, len(places), doing=doing)
        cuts = {place: found for place, found in zip(places, parts, strict=True) if isinstance(found, tuple)}
        return replace(job, files=split_files(job.files, cuts))

    def convert_all(self, jobs: Sequence[ConvertJob]) -> list[Converted | LakebedError]:
        """One stage for the files of all jobs."""
        packs = [pack_files(job.files) for job in jobs]
        tasks = SeveralTasks(tuple(self._tasks(job, some) for job, some in zip(jobs, packs, strict=True)))
        files = sum(len(job.files) for job in jobs)
        doing = f"{_of(files, 'convert')} of {len(jobs)} deliveries"
        results = iter(run_tasks(self._session, tasks, len(tasks), doing=doing))
        done: list[Converted | LakebedError] = []
        for some in packs:
            try:
                done.append(_converted([next(results) for _ in some], some))
            except LakebedError as error:
                done.append(error)
        return done

    def _tasks(self, job: ConvertJob, packs: Sequence[Sequence[int]]) -> ConvertTasks:
        files = tuple(tuple(job.files[position] for position in pack) for pack in packs)
        return ConvertTasks(conversion_of(job, self._storage), files, uuid.uuid4().hex)

    def inspect(self, job: InspectJob) -> tuple[FileFacts, ...]:
        """Reads every file once, the largest first."""
        packs = pack_files(job.files)
        files = tuple(tuple(job.files[position] for position in pack) for pack in packs)
        tasks = InspectTasks(inspection_of(job, self._storage), files)
        said = run_tasks(self._session, tasks, len(packs), doing=_of(len(job.files), "inspect"))
        results = in_order(said, packs)
        raise_first(results)
        return tuple(result for result in results if isinstance(result, FileFacts))

    def rewrite(
        self,
        files: Sequence[DataFile],
        staging: Staging,
        *,
        without: AnySlice | None = None,
        only: AnySlice | None = None,
    ) -> tuple[WrittenFile, ...]:
        """The rows of these files in the staging's schema, without those of a slice, or `only` those of one."""
        order = largest_first(files)
        tasks = RewriteTasks(
            staging,
            self._storage,
            tuple(for_workers(files[position]) for position in order),
            without.values if without else None,
            only.values if only else None,
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


def _converted(results: Sequence[object], packs: Sequence[Sequence[int]]) -> Converted:
    raise_first(in_order(results, packs))
    # In the order of the files that come first in each: what is rejected is told in the order of the job.
    ordered = sorted(zip(packs, results, strict=True), key=lambda one: min(one[0]))
    parts = [result for _, result in ordered if isinstance(result, Converted)]
    if len(parts) != len(packs):
        raise EngineError(f"Spark returned facts of {len(parts)} tasks instead of {len(packs)}")
    return combine(parts)


def _of(files: int, verb: str) -> str:
    return f"{verb} {files} file{'' if files == 1 else 's'}"


def _in_order(results: Sequence[object], order: Sequence[int]) -> list[object]:
    """Results of the tasks, back in the order of the job's files."""
    by_position = dict(zip(order, results, strict=True))
    return [by_position[position] for position in range(len(order))]


class _Watch:
    """Reports progress while the job runs, from the notes that tasks leave: Spark has no way that Connect has too."""

    def __init__(self, notes: Notes, packs: Sequence[Sequence[SourceFile]], progress: LoadProgress | None) -> None:
        self._notes = notes
        self._packs = packs
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
                for file in self._packs[number]:
                    # What is known of a pack is how many rows it has.
                    self._progress(FileDone(file, rows))
                    rows = 0
