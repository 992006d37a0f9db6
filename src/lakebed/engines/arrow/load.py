"""The load in this process: the kernels of the Spark engine on a few threads, which pyarrow lets run side by side."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace

from lakebed.engines.protocols.load import CompactJob, ConvertJob, CountJob, FileDone, InspectJob, LoadProgress
from lakebed.engines.shared.packs import large_files, pack_files, split_files
from lakebed.engines.shared.results import (
    combine,
    conversion_of,
    count_tasks,
    counted,
    cut_tasks,
    in_order,
    inspection_of,
    raise_first,
)
from lakebed.errors import EngineError, LakebedError, UnplannedColumns
from lakebed.kernels.compact import CompactTasks
from lakebed.kernels.convert import Conversion, convert_pack
from lakebed.kernels.copy import CopiedBytes, CopyTasks
from lakebed.kernels.inspect import FileFacts, InspectTasks
from lakebed.kernels.rewrite import rewrite as rewrite_file
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import AnySlice, Compacted, Converted, DataFile, SourceFile, Staging, Totals, WrittenFile


class ArrowEngine:
    """Runs the load on threads of this process."""

    name = "arrow"

    def __init__(self, storage: StorageSettings | None = None) -> None:
        self._storage = (storage or StorageSettings()).resolved()

    def copy(self, pairs: Sequence[tuple[str, str]]) -> list[CopiedBytes | LakebedError]:
        """A task copies one file."""
        tasks = CopyTasks(tuple(pairs), self._storage)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return list(pool.map(tasks, range(len(pairs))))

    def convert(self, job: ConvertJob, progress: LoadProgress | None = None) -> Converted:
        """Converts every file of the job, the largest first, or raises what the first bad file raised."""
        job = self._split(job)
        conversion = conversion_of(job, self._storage)
        packs = sorted(pack_files(job.files), key=min)
        results: dict[int, Converted | LakebedError] = {}
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            running: dict[Future[Converted | LakebedError], int] = {
                pool.submit(_attempt, conversion, [job.files[one] for one in pack], f"{position:05d}"): position
                for position, pack in enumerate(packs)
            }
            for future in as_completed(running):
                position, result = running[future], future.result()
                results[position] = result
                if isinstance(result, Converted):
                    for number, place in enumerate(packs[position]):
                        if progress is not None:
                            # What is known of a pack is how many rows it has.
                            progress(FileDone(job.files[place], 0 if number else result.source.rows))
                elif not isinstance(result, UnplannedColumns):
                    pool.shutdown(cancel_futures=True)
                    break
        raise_first([results[position] for position in sorted(results)])
        return combine([result for _, result in sorted(results.items()) if isinstance(result, Converted)])

    def _split(self, job: ConvertJob) -> ConvertJob:
        """The job with files that are large in parts."""
        places = large_files(job.files)
        tasks = cut_tasks(job, places, self._storage)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            parts = list(pool.map(tasks, range(len(places))))
        return replace(job, files=split_files(job.files, dict(zip(places, parts, strict=True))))

    def convert_all(self, jobs: Sequence[ConvertJob]) -> list[Converted | LakebedError]:
        """One after the other: each uses all threads."""
        results: list[Converted | LakebedError] = []
        for job in jobs:
            try:
                results.append(self.convert(job))
            except LakebedError as error:
                results.append(error)
        return results

    def inspect(self, job: InspectJob) -> tuple[FileFacts, ...]:
        """Reads every file once."""
        packs = pack_files(job.files)
        files = tuple(tuple(job.files[position] for position in pack) for pack in packs)
        tasks = InspectTasks(inspection_of(job, self._storage), files)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            results = in_order(list(pool.map(tasks, range(len(packs)))), packs)
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
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            running = [
                pool.submit(
                    rewrite_file,
                    staging,
                    self._storage,
                    file,
                    f"{number:05d}",
                    without.values if without else None,
                    only.values if only else None,
                )
                for number, file in enumerate(files)
            ]
        return tuple(file for future in running for file in future.result())

    def count(self, job: CountJob) -> Totals:
        """Rows and exact sums of the committed files, on a few threads."""
        tasks = count_tasks(job, self._storage)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return counted(list(pool.map(tasks, range(len(job.files)))), len(job.files))

    def compact(self, job: CompactJob) -> tuple[Compacted, ...]:
        """Makes one file of each pack."""
        tasks = CompactTasks(job.staging, self._storage, job.packs, job.sort_by)
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            try:
                results = list(pool.map(tasks, range(len(job.packs))))
            except OSError as error:
                raise EngineError(f"the storage failed during a compaction: {error}") from error
        raise_first(results)
        return tuple(result for result in results if isinstance(result, Compacted))


def _attempt(conversion: Conversion, sources: Sequence[SourceFile], name: str) -> Converted | LakebedError:
    try:
        return convert_pack(conversion, sources, name)
    except LakebedError as error:
        return error
