"""Between the engines and the kernels: jobs become plain values for workers, their facts become one result."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from lakebed.engines.protocols.load import Converted, ConvertJob, RejectedValue, Rounding
from lakebed.errors import LakebedError, UnplannedColumns
from lakebed.kernels.job import Conversion, Facts, Input, Output, Place
from lakebed.kernels.rewrite import Existing
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import EXACT
from lakebed.model import Bounds, DataFile, SourceFile, Staging, Totals, WrittenFile


def place_of(staging: Staging, storage: StorageSettings) -> Place:
    """Where and in what schema kernels write."""
    return Place(staging.folder, staging.schema, storage)


def conversion_of(job: ConvertJob, storage: StorageSettings) -> Conversion:
    """The job as a worker needs it."""
    return Conversion(
        place=place_of(job.staging, storage),
        columns=tuple(
            (column.name if column.original is None else column.original, column.name) for column in job.columns
        ),
        constants=dict(job.constants),
        partition={name: job.partition[name] for name in job.staging.partition_by},
        quarantine=job.on_bad_value == "quarantine",
        currency=job.currency_column,
    )


def input_of(file: SourceFile) -> Input:
    return Input(file.uri, file.key, file.content, file.compression)


def existing_of(file: DataFile) -> Existing:
    return Existing(file.uri, dict(file.partition))


def largest_first(files: Sequence[SourceFile | DataFile]) -> list[int]:
    """Positions in the order in which tasks should start: the longest must not be the last."""
    return sorted(range(len(files)), key=lambda position: (-files[position].size_bytes, position))


def written(output: Output) -> WrittenFile:
    bounds = {name: Bounds(low, high, nulls) for name, (low, high, nulls) in output.bounds.items()}
    return WrittenFile(output.path, output.rows, output.size_bytes, dict(output.partition), bounds)


def raise_first(results: Sequence[object]) -> None:
    """Raises the first error in the order of the files; unplanned columns are raised once for all files."""
    errors = [result for result in results if isinstance(result, LakebedError)]
    unplanned = [error for error in errors if isinstance(error, UnplannedColumns)]
    others = [error for error in errors if not isinstance(error, UnplannedColumns)]
    if others:
        raise others[0]
    if unplanned:
        names = dict.fromkeys(name for error in unplanned for name in error.names)
        raise UnplannedColumns(file=unplanned[0].file, names=tuple(names))


def converted(files: Sequence[SourceFile], facts: Sequence[Facts]) -> Converted:
    """The facts of all files as one result."""
    sums: dict[str, Decimal] = {}
    by_currency: dict[str, dict[str, Decimal]] = {}
    rounding: dict[str, Rounding] = {}
    for one in facts:
        _add(sums, one.sums)
        for code, totals in one.by_currency.items():
            _add(by_currency.setdefault(code, {}), totals)
        for name, (values, difference) in one.rounding.items():
            before = rounding.get(name, Rounding(0, Decimal(0)))
            rounding[name] = Rounding(before.values + values, EXACT.add(before.difference, difference))
    return Converted(
        files=tuple(written(output) for one in facts for output in one.outputs),
        source=Totals(sum(one.rows for one in facts), sums, by_currency),
        rounding=rounding,
        rejected=tuple(
            RejectedValue(file.key, bad.line, bad.column, bad.value, bad.expected)
            for file, one in zip(files, facts, strict=True)
            for bad in one.rejected
        ),
        rejected_rows=sum(one.rejected_rows for one in facts),
        rejected_files=tuple(written(output) for one in facts for output in one.rejected_outputs),
        warnings=tuple(warning for one in facts for warning in one.warnings),
    )


def _add(totals: dict[str, Decimal], more: Mapping[str, Decimal]) -> None:
    for name, value in more.items():
        totals[name] = EXACT.add(totals.get(name, Decimal(0)), value)
