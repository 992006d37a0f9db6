"""Between the engines and the kernels: jobs become what workers take, and what tasks return becomes one result."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from lakebed.engines.protocols.load import ConvertJob, CountJob, InspectJob
from lakebed.engines.shared import packs
from lakebed.errors import EngineError, LakebedError, SourceError, UnplannedColumns
from lakebed.kernels.convert import Conversion
from lakebed.kernels.count import CountTasks
from lakebed.kernels.cut import CutTasks
from lakebed.kernels.inspect import FileFacts, Inspection
from lakebed.kernels.scan import Scan
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.sums import add_totals
from lakebed.kernels.values import EXACT
from lakebed.model import Converted, DataFile, Rounding, SourceFile, Totals
from lakebed.schema.arrow import to_arrow

_FILES_NAMED = 5


def conversion_of(job: ConvertJob, storage: StorageSettings) -> Conversion:
    """The job as a worker needs it."""
    return Conversion(
        staging=job.staging,
        storage=storage,
        columns=(
            *((column.name if column.original is None else column.original, column.name) for column in job.columns),
            *job.aliases,
        ),
        constants=dict(job.constants),
        partition=(None if job.partition is None else {name: job.partition[name] for name in job.staging.partition_by}),
        quarantine=job.on_bad_value == "quarantine",
        currency=job.currency_column,
        required=job.required,
        limits=job.limits,
        expected=job.expected,
        rounds=job.rounds,
        inferred=job.inferred,
        in_path=_in_path(job),
        waiting=job.waiting,
    )


def _in_path(job: ConvertJob) -> tuple[pa.Field, ...]:
    """The columns by which rows are parted and which the staging's files do not have."""
    if job.partition is not None:
        return ()
    inside = set(job.staging.schema.names)
    return tuple(
        pa.field(name, to_arrow(job.columns[name].type) if name in job.columns else pa.string())
        for name in job.staging.partition_by
        if name not in inside
    )


def inspection_of(job: InspectJob, storage: StorageSettings) -> Inspection:
    """The job as a worker needs it."""
    return Inspection(
        storage=storage,
        delimiter=job.delimiter,
        quote=job.quote,
        encoding=job.encoding,
        infer=job.infer,
        digits=job.digits,
        limits=job.limits,
    )


def in_order(results: Sequence[object], packs: Sequence[Sequence[int]]) -> list[object]:
    """What the tasks say of each of their files, in the order of the job's files."""
    by_position: dict[int, object] = {}
    for pack, said in zip(packs, results, strict=True):
        each = said if isinstance(said, Sequence) else [said] * len(pack)
        by_position.update(zip(pack, each, strict=True))
    return [by_position[position] for position in range(len(by_position))]


def count_tasks(job: CountJob, storage: StorageSettings) -> CountTasks:
    """The job as workers take it, a task for each file."""
    return CountTasks(Scan(job.files, job.schema, storage), job.columns, job.currency, dict(job.slice), job.by)


def counted(results: Sequence[object], files: int) -> Totals:
    """What the tasks counted, as one. Raises what the first of them raised."""
    raise_first(results)
    parts = [result for result in results if isinstance(result, Totals)]
    if len(parts) != files:
        raise EngineError(f"{len(parts)} files were counted instead of {files}")
    return add_totals(parts)


def cut_tasks(job: ConvertJob, places: Sequence[int], storage: StorageSettings) -> CutTasks:
    """A task for each of these files, which finds where it can be cut."""
    return CutTasks(tuple(job.files[place] for place in places), storage, job.limits, packs.PART_BYTES)


def for_workers(file: DataFile) -> DataFile:
    """The file without its bounds: kernels need none, and those of a catalog are objects that workers cannot load."""
    return replace(file, partition=dict(file.partition), bounds={})


def largest_first(files: Sequence[SourceFile | DataFile]) -> list[int]:
    """Positions in the order in which tasks should start: the longest must not be the last."""
    return sorted(range(len(files)), key=lambda position: (-files[position].size_bytes, position))


def raise_first(results: Sequence[object]) -> None:
    """Raises the first error in the order of the files; unplanned columns are raised once for all files."""
    errors = [result for result in results if isinstance(result, LakebedError)]
    unplanned = [error for error in errors if isinstance(error, UnplannedColumns)]
    others = [error for error in errors if not isinstance(error, UnplannedColumns)]
    if others:
        raise others[0]
    if unplanned:
        raise UnplannedColumns.of_all(unplanned)


def inspected(results: Sequence[object], job: InspectJob) -> tuple[FileFacts, ...]:
    """What each file of an inspection is. Raises what is wrong with the first that cannot be read, and names others."""
    wrong = [(file.key, one) for file, one in zip(job.files, results, strict=True) if isinstance(one, LakebedError)]
    if len(wrong) > 1 and all(isinstance(error, SourceError) for _, error in wrong):
        (_, first), *others = wrong
        shown = ", ".join(key for key, _ in others[:_FILES_NAMED]) + (", ..." if len(others) > _FILES_NAMED else "")
        count = f"{len(others)} more file{'' if len(others) == 1 else 's'}"
        raise SourceError(f"{first.message} ({count} cannot be read: {shown})", remedy=first.remedy)
    raise_first(results)
    return tuple(result for result in results if isinstance(result, FileFacts))


def combine(parts: Sequence[Converted]) -> Converted:
    """What was converted file by file, as one result."""
    rounding: dict[str, Rounding] = {}
    for part in parts:
        for name, cost in part.rounding.items():
            before = rounding.get(name, Rounding(0, Decimal(0)))
            rounding[name] = Rounding(before.values + cost.values, EXACT.add(before.difference, cost.difference))
    return Converted(
        files=tuple(file for part in parts for file in part.files),
        source=add_totals(part.source for part in parts),
        rounding=rounding,
        rejected=tuple(value for part in parts for value in part.rejected),
        rejected_rows=sum(part.rejected_rows for part in parts),
        rejected_files=tuple(file for part in parts for file in part.rejected_files),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
    )
