"""The load in this process: the kernels of the Spark engine on a few threads, which pyarrow lets run side by side."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from lakebed.engines.protocols.load import Converted, ConvertJob, FileDone, Progress
from lakebed.engines.shared.results import (
    conversion_of,
    converted,
    existing_of,
    input_of,
    largest_first,
    place_of,
    raise_first,
    written,
)
from lakebed.errors import LakebedError, UnplannedColumns
from lakebed.kernels.convert import convert as convert_file
from lakebed.kernels.job import Conversion, Facts, Input
from lakebed.kernels.rewrite import rewrite as rewrite_file
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import DataFile, Slice, Staging, WrittenFile


def convert(storage: StorageSettings, job: ConvertJob, progress: Progress | None = None) -> Converted:
    """Converts every file of the job, the largest first, or raises what the first bad file raised."""
    conversion = conversion_of(job, storage)
    results: dict[int, Facts | LakebedError] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        running: dict[Future[Facts | LakebedError], int] = {
            pool.submit(_attempt, conversion, input_of(job.files[position]), f"{position:05d}"): position
            for position in largest_first(job.files)
        }
        for future in as_completed(running):
            position, result = running[future], future.result()
            results[position] = result
            if isinstance(result, Facts):
                if progress is not None:
                    progress(FileDone(job.files[position], result.rows))
            elif not isinstance(result, UnplannedColumns):
                pool.shutdown(cancel_futures=True)
                break
    raise_first([results[position] for position in sorted(results)])
    return converted(job.files, [result for _, result in sorted(results.items()) if isinstance(result, Facts)])


def rewrite(
    storage: StorageSettings, files: Sequence[DataFile], staging: Staging, *, without: Slice | None = None
) -> tuple[WrittenFile, ...]:
    """The rows of these files in the staging's schema, leaving out the rows of a slice."""
    place = place_of(staging, storage)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        running = [
            pool.submit(rewrite_file, place, existing_of(file), f"{number:05d}", without.values if without else None)
            for number, file in enumerate(files)
        ]
    return tuple(written(output) for future in running for output in future.result())


def _attempt(conversion: Conversion, source: Input, name: str) -> Facts | LakebedError:
    try:
        return convert_file(conversion, source, name)
    except LakebedError as error:
        return error
