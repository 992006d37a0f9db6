"""The redo journal of a plain Parquet dataset: many files change as one, though the format has no commit.

Everything lies beside the dataset, in `.<name>.txn/`, because readers differ in what they skip inside it:

    lock           who may commit
    commit.json    the last commit: `pending` while its files move into place, `applied` after
    <id>/owner     says that the staging is in use
    <id>/data/     where engines write

A commit is the moment `commit.json` becomes `pending`: everything it names is written and synced by then, and from
then on every writer moves the rest into place before it looks at the dataset. Each step can be repeated. Files are
replaced, never removed first; deletions come last. A reader moves nothing: it reads what the record describes.

Nothing here is trusted. A record is checked whole before the first step: `record.py` its values, this module that no
link leads out of the dataset or of the staging.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from lakebed.checkpoints import Checkpoint, pass_checkpoint
from lakebed.errors import AlreadyExists, Changed, ConcurrentModification, NotFound, TargetError
from lakebed.retry import retry, waiting
from lakebed.storage import Entry, Storage, is_local, join, local_path, open_unlinked, sync_folder
from lakebed.targets.load_log import NO_LOADS, LoadLog
from lakebed.targets.parquet.lock import WAIT_SECONDS, exclusive, wait_until_free
from lakebed.targets.parquet.pending import NO_OVERLAY, Overlay, damaged_file_error, lost_file_error, other_file_error
from lakebed.targets.parquet.record import LARGEST_BYTES, CommitRecord, Delete, Put
from lakebed.targets.shared.containment import LinkGuard, require_no_link
from lakebed.targets.shared.staging import StagingArea

try:  # twenty times as fast; not built for every machine
    from isal.isal_zlib import crc32
except ImportError:
    from zlib import crc32

THREADS = 16
CHUNK_BYTES = 4 * 1024 * 1024

T = TypeVar("T")


def fingerprint(entry: Entry) -> str:
    """What tells this version of a file from every other: its ETag, which locally is inode, time and size."""
    return f"{entry.size_bytes}-{entry.etag or entry.modified}"


class Journal:
    """The journal of one dataset. `checkpoint` is called between the steps with each step's name."""

    def __init__(
        self,
        dataset: str,
        storage: Storage,
        *,
        checkpoint: Checkpoint = pass_checkpoint,
        wait_seconds: float = WAIT_SECONDS,
        read_only: bool = False,
    ) -> None:
        parent, _, name = dataset.rstrip("/").rpartition("/")
        self.dataset = dataset.rstrip("/")
        self.folder = f"{parent}/.{name}.txn"
        self._storage = storage
        self._checkpoint = checkpoint
        self._wait_seconds = wait_seconds
        self._read_only = read_only
        self._record = join(self.folder, "commit.json")
        self._local = is_local(dataset)
        self._area = StagingArea(self.folder, storage)

    def begin(self) -> str:
        """Opens a staging and returns its id."""
        if self._local:
            self._require_one_disk()
        return self._area.begin(keep=self._unfinished())

    def left_behind(self, before: datetime) -> tuple[str, ...]:
        """The files of crashed writers, but for those of a commit that is to be finished."""
        return self._area.left_behind(before=before, keep=self._unfinished())

    def sweep(self) -> None:
        """Removes what crashed writers left, but for what a commit that is to be finished needs."""
        self._area.sweep(keep=self._unfinished())

    def _unfinished(self) -> set[str]:
        record, _ = self._read()
        return {record.id} if record is not None and record.state == "pending" else set()

    def staging(self, id_: str) -> str:
        """The folder that engines write into."""
        return self._area.folder(id_)

    def owns(self, folder: str) -> bool:
        """Whether this is the folder of a staging of this dataset."""
        return self._area.owns(folder)

    def abandon(self, id_: str) -> None:
        """Removes a staging that will not be committed. One whose commit has happened stays: recovery needs it."""
        record, _ = self._read()
        if record is None or record.id != id_ or record.state != "pending":
            self._area.remove(id_)

    def steady(self, look: Callable[[Overlay], T]) -> T:
        """What `look` sees of the dataset, between two commits rather than during one.

        A writer finishes what a crash interrupted first. A reader leaves it, and `look` gets what it changes.
        """

        def attempt() -> T:
            before, _ = self._read()
            pending = before is not None and before.state == "pending"
            if before is not None:
                self._require_no_links(before)
            if pending and not self._read_only:
                self.recover()
                before, _ = self._read()
                pending = False
            elif pending:
                # A writer that lives is done in a moment, and what it moves would be gone while it is read.
                wait_until_free(join(self.folder, "lock"), self._storage, wait_seconds=self._wait_seconds)
                if self._read()[0] != before:
                    raise self._moved()
            try:
                seen = look(NO_OVERLAY if before is None else self._described(before))
            except NotFound:
                # A file that was listed is gone: a commit came between, or else another program removed it.
                if self._read()[0] == before and not pending:
                    raise
                raise self._moved() from None
            if self._read()[0] != before:
                raise self._moved()
            return seen

        return retry(attempt, what=f"reading {self.dataset} between commits", backoff=waiting(self._wait_seconds))

    def _described(self, record: CommitRecord) -> Overlay:
        """What a record changes that is not applied yet, as it stands: looked at and left alone."""
        if record.state == "applied":
            return Overlay(txns=record.txns, log=record.log)
        folder = self.staging(record.id)
        staged: dict[str, Entry] = {}
        in_place: set[str] = set()
        for put in record.puts:
            try:
                entry = self._storage.head(join(folder, put.staged))
            except NotFound:
                in_place.add(put.final)
                continue
            if entry.size_bytes != put.size_bytes:
                raise damaged_file_error(entry.uri, f"{entry.size_bytes} bytes", str(put.size_bytes))
            staged[put.final] = entry
        leaving = {delete.path: delete.size_bytes for delete in record.deletes}
        return Overlay(self._record, staged, frozenset(in_place), leaving, record.txns, record.log)

    def _require_no_links(self, record: CommitRecord) -> None:
        if not self._local:
            return
        staging, dataset = LinkGuard(self.folder), LinkGuard(self.dataset)
        staging.require_no_link(f"{record.id}/old")
        for put in record.puts:
            staging.require_no_link(f"{record.id}/data/{put.staged}")
            dataset.require_no_link(put.final)
        for delete in record.deletes:
            dataset.require_no_link(delete.path)

    def _moved(self) -> ConcurrentModification:
        return ConcurrentModification(
            f"{self.dataset} was committed to by other writers each time it was read",
            remedy="Run again when fewer processes write to it.",
        )

    def recover(self) -> None:
        """Finishes a commit that a crash interrupted, or waits for the process that is finishing it."""
        with exclusive(join(self.folder, "lock"), self._storage, wait_seconds=self._wait_seconds):
            record, etag = self._read()
            if record is not None and record.state == "pending":
                self._roll_forward(record, etag, after_crash=True)

    def last(self) -> CommitRecord | None:
        """The record of the last commit, whether or not its files are all in place."""
        return self._read()[0]

    def commit(
        self,
        id_: str,
        puts: Sequence[Put],
        deletes: Sequence[Delete],
        *,
        verify: Callable[[], None],
        properties: Mapping[str, str] | None = None,
        txns: Mapping[str, int] | None = None,
        log: LoadLog = NO_LOADS,
    ) -> None:
        """Makes puts and deletes visible as one. `verify` raises if the dataset is not what the change was made for.

        `txns` and `log` are all that the dataset holds afterwards.
        """
        self._checkpoint("staged")
        synced = self._synced(id_, puts)
        self._checkpoint("synced")
        with exclusive(join(self.folder, "lock"), self._storage, wait_seconds=self._wait_seconds) as lock:
            self._checkpoint("locked")
            before, etag = self._read()
            if before is not None and before.state == "pending":
                etag = self._roll_forward(before, etag, after_crash=True)
            verify()
            self._checkpoint("verified")
            now = datetime.now(UTC).isoformat(timespec="seconds")
            record = CommitRecord(
                id_, "pending", synced, tuple(deletes), now, dict(properties or {}), dict(txns or {}), log
            )
            self._require_no_links(record)
            lock.confirm()
            etag = self._write(record, etag)
            self._checkpoint("recorded")
            self._roll_forward(record, etag, after_crash=False)
        self._area.remove(id_)
        self._checkpoint("swept")

    def _require_one_disk(self) -> None:
        dataset, beside = local_path(self.dataset), local_path(self.folder).parent
        if dataset.exists() and dataset.stat().st_dev != beside.stat().st_dev:
            raise TargetError(
                f"{dataset} is a file system of its own, and files cannot be renamed into it from {beside}",
                remedy=f"Use a folder inside it: {dataset}/table.",
            )

    def _read(self) -> tuple[CommitRecord | None, str | None]:
        if self._local:
            require_no_link(local_path(self.folder))
            require_no_link(local_path(self._record))
        try:
            # ETag first: if the record changes in between, the put that relies on the ETag fails.
            entry = self._storage.head(self._record)
            if entry.size_bytes > LARGEST_BYTES:
                raise TargetError(
                    f"{self._record} is not a commit record: it has {entry.size_bytes} bytes",
                    remedy="Nothing was changed. Move it away together with its folder.",
                )
            return CommitRecord.from_bytes(self._storage.read(self._record), uri=self._record), entry.etag
        except NotFound:
            return None, None

    def _write(self, record: CommitRecord, etag: str | None) -> str | None:
        data = record.to_bytes(uri=self._record)
        try:
            return self._storage.put(self._record, data, create_only=etag is None, if_match=etag).etag
        except (AlreadyExists, Changed):
            raise ConcurrentModification(
                f"{self.dataset}: another writer committed first", remedy="Read the table again and repeat the change."
            ) from None

    def _synced(self, id_: str, puts: Sequence[Put]) -> tuple[Put, ...]:
        """The puts with checksums, when everything they name is durable."""
        folder = self.staging(id_)
        with ThreadPoolExecutor(THREADS) as pool:
            done = tuple(pool.map(lambda put: self._checked(folder, put), puts))
        if self._local:
            for each in {local_path(join(folder, put.staged)).parent for put in puts}:
                sync_folder(each)
        return done

    def _checked(self, folder: str, put: Put) -> Put:
        staged = join(folder, put.staged)
        if self._local:
            size, checksum = _sync_and_sum(local_path(staged))
        else:
            entry = self._storage.head(staged)
            size, checksum = entry.size_bytes, f"etag:{entry.etag}"
        if size != put.size_bytes:
            raise TargetError(
                f"{staged} has {size} bytes, its writer said {put.size_bytes}",
                remedy="Nothing was committed. Run again; if it stays so, the disk or the writer is at fault.",
            )
        return Put(put.staged, put.final, size, checksum)

    def _roll_forward(self, record: CommitRecord, etag: str | None, *, after_crash: bool) -> str | None:
        folder = self.staging(record.id)
        waiting = list(record.puts)
        if after_crash:
            self._require_no_links(record)
            waiting = [put for put in record.puts if self._still_staged(folder, put)]
        if self._local:
            self._hold(record)
        self._each(waiting, lambda put: self._put(folder, put))
        self._checkpoint("replaced")
        self._each(record.deletes, lambda delete: self._delete(delete, check=after_crash))
        self._checkpoint("deleted")
        if self._local:
            # Only the record's end must wait for the disk: until then everything above would be done again.
            self._sync_dataset([put.final for put in record.puts] + [delete.path for delete in record.deletes])
        # From here on the record has nothing left to do; what stays of it tells one commit from the next.
        applied = replace(record, state="applied", puts=(), deletes=())
        etag = self._write(applied, etag)
        self._checkpoint("retired")
        if after_crash:
            self._area.remove(record.id)
        return etag

    def _still_staged(self, folder: str, put: Put) -> bool:
        staged, final = join(folder, put.staged), join(self.dataset, put.final)
        try:
            entry = self._storage.head(staged)
        except NotFound:
            if self._storage.exists(final):
                return False
            raise lost_file_error(put.final, self._record) from None
        found = _sync_and_sum(local_path(staged))[1] if self._local else f"etag:{entry.etag}"
        if found != put.checksum:
            raise damaged_file_error(staged, f"checksum {found}", put.checksum)
        return True

    def _hold(self, record: CommitRecord) -> None:
        """Links the files that go into the staging, so that freeing their blocks takes no time between the renames.

        A large file takes ten milliseconds to free and a rename a tenth of one: that is how long plain readers can meet
        old and new files together.
        """
        held = local_path(join(self.folder, record.id, "old"))
        held.mkdir(parents=True, exist_ok=True)
        leaving = [put.final for put in record.puts] + [delete.path for delete in record.deletes]
        for number, path in enumerate(leaving):
            # Not there, linked before the crash, or a file system without links: it only takes longer then.
            with contextlib.suppress(OSError):
                os.link(local_path(join(self.dataset, path)), held / str(number), follow_symlinks=False)

    def _put(self, folder: str, put: Put) -> None:
        self._storage.move(join(folder, put.staged), join(self.dataset, put.final))
        self._checkpoint(f"put {put.final}")

    def _delete(self, delete: Delete, *, check: bool) -> None:
        uri = join(self.dataset, delete.path)
        if check and not self._may_delete(uri, delete):
            return
        self._storage.delete([uri])
        self._checkpoint(f"delete {delete.path}")

    def _may_delete(self, uri: str, delete: Delete) -> bool:
        try:
            size_bytes = self._storage.head(uri).size_bytes
        except NotFound:
            return False
        # Not the whole fingerprint: a copy or a backup of an interrupted dataset has other inodes and times.
        if size_bytes != delete.size_bytes:
            raise other_file_error(uri, self._record, size_bytes, delete.size_bytes)
        return True

    def _each(self, items: Sequence[T], act: Callable[[T], None]) -> None:
        if self._local or len(items) < 2:
            for item in items:
                act(item)
            return
        with ThreadPoolExecutor(THREADS) as pool:
            # Consuming the results raises what a thread raised.
            for _ in pool.map(act, items):
                pass

    def _sync_dataset(self, paths: Iterable[str]) -> None:
        root = local_path(self.dataset)
        folders = {root.parent}
        for path in paths:
            folder = (root / path).parent
            while not folder.exists():
                folder = folder.parent
            while folder != root.parent:
                folders.add(folder)
                folder = folder.parent
        for folder in sorted(folders, key=lambda each: len(each.parts), reverse=True):
            if folder != root and root in folder.parents and not any(folder.iterdir()):
                with contextlib.suppress(OSError):  # another process wrote into it this moment
                    folder.rmdir()
                continue
            sync_folder(folder)


def _sync_and_sum(path: Path) -> tuple[int, str]:
    """Makes a file durable and returns its size and CRC-32, which is enough to tell a torn file from a whole one."""
    size, checksum = 0, 0
    with open_unlinked(path) as handle:
        os.fsync(handle.fileno())
        while chunk := handle.read(CHUNK_BYTES):
            size += len(chunk)
            checksum = crc32(chunk, checksum)
    return size, f"crc32:{checksum:08x}"
