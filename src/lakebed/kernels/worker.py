"""The worker's side of a Spark job: numbers of tasks come in, pickled results go out, never a row of data."""

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.errors import LakebedError, UnplannedColumns
from lakebed.kernels.convert import Conversion, convert_pack
from lakebed.kernels.files import filesystem
from lakebed.kernels.rewrite import rewrite
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import Converted, DataFile, SourceFile, Staging, WrittenFile

PROGRESS_FOLDER = "_progress"
_FAILED = "failed"


@dataclass(frozen=True)
class TaskSkipped:
    """A task that did not start, because another one had failed for good."""


@dataclass(frozen=True)
class ConvertTasks:
    """Every file of a conversion, in packs; a task converts one pack."""

    conversion: Conversion
    packs: tuple[tuple[SourceFile, ...], ...]
    run: str

    def __call__(self, number: int) -> Converted | LakebedError | TaskSkipped:
        notes = Notes(self.conversion.staging.folder, self.conversion.storage, self.run)
        if notes.failed():
            return TaskSkipped()
        try:
            converted = convert_pack(self.conversion, self.packs[number], f"{number:05d}")
        except UnplannedColumns as error:
            return error  # The others go on: one new plan should know the new columns of all files.
        except LakebedError as error:
            notes.fail()
            return error
        notes.done(number, converted.source.rows)
        return converted


@dataclass(frozen=True)
class SeveralTasks:
    """The tasks of several conversions, numbered through: those of the first, then those of the second, ..."""

    parts: tuple[ConvertTasks, ...]

    def __len__(self) -> int:
        return sum(len(part.packs) for part in self.parts)

    def __call__(self, number: int) -> Converted | LakebedError | TaskSkipped:
        for part in self.parts:
            if number < len(part.packs):
                return part(number)
            number -= len(part.packs)
        raise IndexError(number)


@dataclass(frozen=True)
class RewriteTasks:
    """Every file of a rewrite; a task rewrites one."""

    staging: Staging
    storage: StorageSettings
    files: tuple[DataFile, ...]
    without: Mapping[str, object] | None
    only: Mapping[str, object] | None = None

    def __call__(self, number: int) -> tuple[WrittenFile, ...] | LakebedError:
        try:
            return rewrite(self.staging, self.storage, self.files[number], f"{number:05d}", self.without, self.only)
        except LakebedError as error:
            return error


def run(tasks: Callable[[int], object], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What `mapInArrow` calls. A user's mistake travels as a value: an exception would be retried, and end in Java."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            result = pickle.dumps(tasks(number))
            yield pa.RecordBatch.from_arrays(
                [pa.array([number], pa.int64()), pa.array([result], pa.binary())], names=["task", "result"]
            )


class Notes:
    """Empty files beside the output, whose names tell the driver how far the tasks are. The sweep removes them."""

    def __init__(self, staging_folder: str, storage: StorageSettings, run: str) -> None:
        folder = f"{staging_folder.rstrip('/')}/{PROGRESS_FOLDER}/{run}"
        self._filesystem, self._folder = filesystem(folder, storage)

    def done(self, number: int, rows: int) -> None:
        self._put(f"{number}-{rows}")

    def fail(self) -> None:
        self._put(_FAILED)

    def failed(self) -> bool:
        info = self._filesystem.get_file_info(f"{self._folder}/{_FAILED}")
        return bool(info.type == pafs.FileType.File)

    def finished(self) -> dict[int, int]:
        """Rows of each task that is done."""
        selector = pafs.FileSelector(self._folder, allow_not_found=True)
        names = [info.base_name for info in self._filesystem.get_file_info(selector)]
        pairs = [name.split("-") for name in names if name != _FAILED]
        return {int(number): int(rows) for number, rows in pairs}

    def _put(self, name: str) -> None:
        if isinstance(self._filesystem, pafs.LocalFileSystem):
            self._filesystem.create_dir(self._folder, recursive=True)
        with self._filesystem.open_output_stream(f"{self._folder}/{name}"):
            pass
