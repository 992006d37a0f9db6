"""The files of a Parquet dataset as they lie there, what their footers say, and the table that they are."""

import hashlib
from collections.abc import Iterable, Sequence

from lakebed.model import RESERVED_COLUMNS, DataFile
from lakebed.schema.types import Schema
from lakebed.storage import Storage
from lakebed.targets.base import TableState
from lakebed.targets.parquet.footer_cache import FooterCache
from lakebed.targets.parquet.journal import fingerprint
from lakebed.targets.parquet.partitions import is_data_file, partition_of
from lakebed.targets.parquet.pending import NO_OVERLAY, Overlay
from lakebed.targets.parquet.schema import union_schema
from lakebed.targets.shared.footers import Footer, data_file, read_footers

# Statistics of every column of every file would be slow to turn into Python values where both are many.
ALL_BOUNDS_UP_TO = 20_000
# From this many files on, what footers said is kept beside the dataset for the next process.
CACHE_FROM = 200


class DatasetFiles:
    """The files below one folder. A footer is read once for each version of its file."""

    def __init__(self, root: str, storage: Storage, *, cache: str) -> None:
        self._root = root
        self._storage = storage
        self._footers: dict[tuple[str, str], Footer] = {}
        self._cache = FooterCache(cache, root, storage)

    def list(self, overlay: Overlay = NO_OVERLAY) -> list[DataFile]:
        """The data files now, their footers not yet read; with what a pending commit changes, where there is one."""
        found = ((entry.uri.removeprefix(self._root + "/"), entry) for entry in self._storage.list(self._root))
        files = overlay.apply((path, entry) for path, entry in found if is_data_file(path))
        return [
            data_file(entry, partition=partition_of(path), fingerprint=fingerprint(entry))
            for path, entry in sorted(files.items())
        ]

    def state(self, overlay: Overlay = NO_OVERLAY) -> TableState:
        """The table that the files are now."""
        files = self.list(overlay)
        if not files:
            return TableState(False, Schema(), 0, version(files))
        footers = self.footers(files)
        self._footers = {(footer.file.uri, footer.file.fingerprint): footer for footer in footers}
        partition_by = tuple(dict.fromkeys(name for file in files for name in file.partition))
        return TableState(
            exists=True,
            schema=union_schema(footers, partition_by),
            rows=sum(footer.file.rows for footer in footers),
            version=version(files),
            partition_by=partition_by,
            files=tuple(footer.file for footer in footers),
            txns=overlay.txns,
            log=overlay.log,
        )

    def footers(self, files: Sequence[DataFile]) -> Sequence[Footer]:
        """The footers of these files; those read before are not read again unless the file has changed."""
        unknown = self._unknown(files)
        if len(unknown) >= CACHE_FROM:
            self._footers |= self._cache.load(unknown)
            unknown = self._unknown(unknown)
        if unknown:
            first = read_footers(unknown[:1], self._storage, columns=())
            few = len(unknown) * len(first[0].schema.names) <= ALL_BOUNDS_UP_TO
            for footer in read_footers(unknown, self._storage, columns=None if few else RESERVED_COLUMNS):
                self._footers[footer.file.uri, footer.file.fingerprint] = footer
        return tuple(self._footers[file.uri, file.fingerprint] for file in files)

    def remember(self, files: Sequence[DataFile]) -> None:
        """Keeps the footers of a large dataset for the next process."""
        if len(files) >= CACHE_FROM:
            self._cache.save(self.footers(files))

    def _unknown(self, files: Sequence[DataFile]) -> Sequence[DataFile]:
        return tuple(file for file in files if (file.uri, file.fingerprint) not in self._footers)


def version(files: Iterable[DataFile]) -> str:
    """What changes when any file comes, goes or is written again."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.uri}\0{file.fingerprint}\0".encode())
    return digest.hexdigest()
