"""Where engines write before a commit to an Iceberg table: a folder inside it, whose name says that it is ours."""

import fcntl
import os
import re
import secrets
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from lakebed.storage import is_local, local_path

# A snapshot property: the staging whose files it committed.
STAGING_ID = "lakebed.staging"
STAGING_PREFIX = "lakebed-"
STAGING_NAME = re.compile(re.escape(STAGING_PREFIX) + "[0-9a-f]{32}")
# The ids of our stagings begin with this, so that a manifest says by its name that it is ours.
MARK = "1a4ebed0"
# So much of a staging's id is in the names of its manifests; the rest is another one for each attempt to commit.
SHARED_DIGITS = 24


def new_staging_id() -> str:
    """An id that no other staging has: 32 hexadecimal digits."""
    return MARK + secrets.token_hex(12)


def marked_uuid() -> uuid.UUID:
    """What a metadata file of ours is called by, so that its name says whose it is."""
    return uuid.UUID(new_staging_id())


def commit_uuid(staging_id: str) -> uuid.UUID:
    """What manifests of one attempt to commit the staging are called by."""
    return uuid.UUID(staging_id[:SHARED_DIGITS] + secrets.token_hex(4))


def lock_folder(folder: str) -> int:
    """Marks a local staging as in use until the descriptor is closed, or the process ends, however it ends."""
    descriptor = os.open(local_path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


@contextmanager
def in_use(folder: str) -> Iterator[None]:
    """Around what is written into a staging that the caller opens, commits and forgets."""
    if not is_local(folder):
        yield
        return
    local_path(folder).mkdir(parents=True, exist_ok=True)
    descriptor = lock_folder(folder)
    try:
        yield
    finally:
        os.close(descriptor)


def local_stagings(place: str) -> list[str]:
    """The folders of stagings below a local folder of a table."""
    if not is_local(place):
        return []
    found = (folder for pattern in ("*", "data/*") for folder in local_path(place).glob(pattern))
    return [str(folder) for folder in found if STAGING_NAME.fullmatch(folder.name) and folder.is_dir()]


def is_locked(folder: str) -> bool:
    """Whether the writer of a local staging runs. Of one on an object store nothing says so but its age."""
    descriptor = os.open(local_path(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
