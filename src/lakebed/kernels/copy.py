"""Copies files from one place to another on a worker: bytes that the driver need not see."""

import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.errors import LakebedError, NotFound
from lakebed.kernels.files import failed, filesystem
from lakebed.kernels.storage_settings import StorageSettings

CHUNK_BYTES = 8 << 20


@dataclass(frozen=True)
class CopiedBytes:
    """What arrived."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class CopyTasks:
    """A task copies one file: where from, and where to."""

    pairs: tuple[tuple[str, str], ...]
    storage: StorageSettings

    def __call__(self, number: int) -> CopiedBytes | LakebedError:
        source, target = self.pairs[number]
        try:
            return self._copy(source, target)
        except FileNotFoundError:
            return NotFound(f"there is nothing at {source}", uri=source)
        except (OSError, pa.ArrowException) as error:
            return failed(error, f"copying {source} to {target}")

    def _copy(self, source: str, target: str) -> CopiedBytes:
        read, from_path = filesystem(source, self.storage)
        write, to_path = filesystem(target, self.storage)
        if isinstance(write, pafs.LocalFileSystem):
            write.create_dir(to_path.rpartition("/")[0], recursive=True)
        digest, size = hashlib.sha256(), 0
        # By themselves both would unpack and pack what is called `.gz`.
        with (
            read.open_input_stream(from_path, compression=None) as incoming,
            write.open_output_stream(to_path, compression=None) as outgoing,
        ):
            while chunk := incoming.read(CHUNK_BYTES):
                digest.update(chunk)
                outgoing.write(chunk)
                size += len(chunk)
        return CopiedBytes(size, digest.hexdigest())
