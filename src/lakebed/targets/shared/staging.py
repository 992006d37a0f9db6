"""Folders that engines write into before a commit, and what becomes of them when their process dies."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from lakebed.storage import Storage, is_local, join, local_path, system_errors

# Object stores do not tell that a process has died; a staging that old has no owner any more.
REMOTE_STAGING_LIVES = timedelta(days=2)


class StagingArea:
    """The stagings below one folder: `<id>/owner` says that one is in use, `<id>/data/` is what engines see."""

    def __init__(self, folder: str, storage: Storage) -> None:
        self._folder = folder
        self._storage = storage
        self._local = is_local(folder)
        # Descriptors rather than file objects: a staging stays ours until it is removed or the process ends.
        self._owned: dict[str, int] = {}

    def begin(self, *, keep: Collection[str] = ()) -> str:
        """Opens a staging and returns its id; removes those of dead processes, but for those to `keep`."""
        self._sweep(keep)
        id_ = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
        owner = join(self._folder, id_, "owner")
        if not self._local:
            self._storage.put(owner, b"", create_only=True)
            return id_
        path = local_path(owner)
        with system_errors(self._folder):
            path.parent.joinpath("data").mkdir(parents=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
        # The system frees this lock when the process ends, however it ends.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not path.exists():
            # A sweep came between the file and its lock.
            os.close(descriptor)
            return self.begin(keep=keep)
        self._owned[id_] = descriptor
        return id_

    def folder(self, id_: str) -> str:
        """Where engines write."""
        return join(self._folder, id_, "data")

    def remove(self, id_: str) -> None:
        """Removes a staging and everything in it."""
        folder = join(self._folder, id_)
        if not self._local:
            self._storage.delete([entry.uri for entry in self._storage.list(folder)])
            return
        shutil.rmtree(local_path(folder), ignore_errors=True)
        if (descriptor := self._owned.pop(id_, None)) is not None:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # not empty: a lock, a record or another staging stays
            local_path(self._folder).rmdir()

    def _sweep(self, keep: Collection[str]) -> None:
        if not self._local:
            self._sweep_remote(keep)
            return
        folder = local_path(self._folder)
        for owner in folder.glob("*/owner") if folder.is_dir() else ():
            if owner.parent.name in keep or owner.parent.name in self._owned:
                continue
            with contextlib.suppress(FileNotFoundError), owner.open("r+") as handle:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(owner.parent, ignore_errors=True)

    def _sweep_remote(self, keep: Collection[str]) -> None:
        oldest = datetime.now(UTC) - REMOTE_STAGING_LIVES
        entries = list(self._storage.list(self._folder))
        dead = tuple(
            entry.uri.removesuffix("owner")
            for entry in entries
            if entry.uri.endswith("/owner")
            and entry.uri.split("/")[-2] not in keep
            and entry.modified is not None
            and entry.modified < oldest
        )
        self._storage.delete(entry.uri for entry in entries if dead and entry.uri.startswith(dead))
