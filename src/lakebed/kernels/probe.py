"""What a worker has and reaches: its Python, its pyarrow, its clock, the places that a load needs."""

import platform
import socket
import sys
import time
from dataclasses import dataclass, field
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings


@dataclass(frozen=True)
class WorkerFacts:
    """What a task found around itself. `refused` says of each place that it cannot use, why."""

    host: str
    executable: str
    python: str
    pyarrow: str
    isal: bool
    clock: float  # seconds since 1970, as this machine has them
    refused: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ProbeTasks:
    """Every task looks at the same things. `read` are places to be listed; into each of `write` a task puts an empty
    file, named by `name` and its number, which whoever asked removes: pyarrow would leave a marker of the folder.
    """

    storage: StorageSettings
    name: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    def __call__(self, number: int) -> WorkerFacts:
        refused = {}
        for place in (*self.read, *self.write):
            try:
                self._use(place, number if place in self.write else None)
            except Exception as error:  # noqa: BLE001 -- whatever keeps a worker from it is the answer
                refused[place] = str(error) or type(error).__name__
        return WorkerFacts(
            host=socket.gethostname(),
            executable=sys.executable,
            python=platform.python_version(),
            pyarrow=pa.__version__,
            isal=find_spec("isal") is not None,
            clock=time.time(),
            refused=refused,
        )

    def _use(self, place: str, number: int | None) -> None:
        files, path = filesystem(place, self.storage)
        if number is None:
            # A prefix of a bucket need not hold anything yet.
            root = path if isinstance(files, pafs.LocalFileSystem) else path.split("/")[0]
            if files.get_file_info(root).type == pafs.FileType.NotFound:
                raise FileNotFoundError(f"there is no {root}")
            files.get_file_info(pafs.FileSelector(path, allow_not_found=True))
            return
        if isinstance(files, pafs.LocalFileSystem):
            files.create_dir(path, recursive=True)
        with files.open_output_stream(f"{path}/{self.name}-{number}"):
            pass
