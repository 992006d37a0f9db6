"""Folders that engines write into before a commit, and what becomes of them when their process dies."""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakebed.errors import TargetError
from lakebed.storage import Storage, is_local, join, local_path, system_errors
from lakebed.targets.shared.containment import LinkGuard, require_no_link

# Object stores do not tell that a process has died; a staging that old has no owner any more.
REMOTE_STAGING_LIVES = timedelta(days=2)

_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")


def is_staging_id(text: object) -> bool:
    """Whether this can be the id of a staging; what is called otherwise is none of ours."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


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
            local_path(self._folder).mkdir(parents=True, exist_ok=True)
            # Rows that are not committed are for nobody else's eyes; what is moved into place keeps its own rights.
            path.parent.mkdir(mode=0o700)
            path.parent.joinpath("data").mkdir()
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
        return join(self._place(id_), "data")

    def owns(self, folder: str) -> bool:
        """Whether this is the folder of a staging here; one that a link leads out of is none."""
        match folder.removeprefix(self._folder.rstrip("/") + "/").split("/"):
            case [id_, "data"] if is_staging_id(id_) and folder == self.folder(id_):
                if self._local:
                    require_no_link(local_path(self._folder))
                    LinkGuard(self._folder).require_no_link(f"{id_}/data")
                return True
        return False

    def remove(self, id_: str) -> None:
        """Removes a staging and everything in it."""
        folder = self._place(id_)
        if not self._local:
            self._storage.delete([entry.uri for entry in self._storage.list(folder)])
            return
        require_no_link(local_path(self._folder))
        shutil.rmtree(local_path(folder), ignore_errors=True)
        if (descriptor := self._owned.pop(id_, None)) is not None:
            os.close(descriptor)
        with contextlib.suppress(OSError):  # not empty: a lock, a record or another staging stays
            local_path(self._folder).rmdir()

    def left_behind(self, *, before: datetime, keep: Collection[str] = ()) -> tuple[str, ...]:
        """The files of stagings whose process is gone; on object stores of those that are older than this."""
        if not self._local:
            return self._remote_leftovers(before, keep)
        folder = local_path(self._folder)
        require_no_link(folder)
        found: list[str] = []
        for staging in sorted(folder.iterdir()) if folder.is_dir() else ():
            with self._dead(staging, keep) as dead:
                found += [str(path) for path in staging.rglob("*") if path.is_file()] if dead else []
        return tuple(found)

    def sweep(self, keep: Collection[str] = ()) -> None:
        """Removes the stagings of dead processes, but for those to `keep`."""
        self._sweep(keep)
        if self._local:
            with contextlib.suppress(OSError):  # not empty, or not there
                local_path(self._folder).rmdir()

    def _place(self, id_: str) -> str:
        if not is_staging_id(id_):
            raise TargetError(f"{id_!r} is not the id of a staging in {self._folder}")
        return join(self._folder, id_)

    def _sweep(self, keep: Collection[str]) -> None:
        if not self._local:
            self._sweep_remote(keep)
            return
        folder = local_path(self._folder)
        require_no_link(folder)
        for staging in folder.iterdir() if folder.is_dir() else ():
            with self._dead(staging, keep) as dead:
                if dead:
                    shutil.rmtree(staging, ignore_errors=True)

    @contextlib.contextmanager
    def _dead(self, staging: Path, keep: Collection[str]) -> Iterator[bool]:
        """Whether the process of a local staging is gone; nobody else can take the staging until the context ends."""
        if not is_staging_id(staging.name) or staging.is_symlink() or staging.name in (*keep, *self._owned):
            yield False
            return
        try:
            owner = os.open(staging / "owner", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            # Not made yet, swept by another, or not ours to remove.
            yield False
            return
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        try:
            yield free
        finally:
            os.close(owner)

    def _sweep_remote(self, keep: Collection[str]) -> None:
        self._storage.delete(self._remote_leftovers(datetime.now(UTC) - REMOTE_STAGING_LIVES, keep))

    def _remote_leftovers(self, before: datetime, keep: Collection[str]) -> tuple[str, ...]:
        entries = list(self._storage.list(self._folder))
        dead = tuple(
            entry.uri.removesuffix("owner")
            for entry in entries
            if _owned_id(self._folder, entry.uri) not in (None, *keep)
            and entry.modified is not None
            and entry.modified < before
        )
        return tuple(entry.uri for entry in entries if dead and entry.uri.startswith(dead))


def _owned_id(folder: str, uri: str) -> str | None:
    """The id of the staging whose mark this is; None where it is another object."""
    match uri.removeprefix(folder.rstrip("/") + "/").split("/"):
        case [id_, "owner"] if is_staging_id(id_):
            return id_
    return None
