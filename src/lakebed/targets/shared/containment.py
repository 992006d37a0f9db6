"""What lies beside a table is not trusted: paths that are read from there stay inside the folder they belong to."""

import os
import stat

from lakebed.errors import TargetError
from lakebed.storage import local_path

# Longer names no file system takes, and object stores take no longer keys.
LONGEST_PATH = 4096


def leads_outside(path: object) -> str | None:
    """Why this is not the path of a file below a folder; None where it is one."""
    if not isinstance(path, str):
        return "is not text"
    if not path or len(path) > LONGEST_PATH:
        return "is empty" if not path else f"has {len(path)} characters"
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
        return "holds control characters"
    if "\\" in path:
        return "holds a backslash"
    if path.startswith("/") or "://" in path:
        return "is not relative"
    if any(segment in ("", ".", "..") for segment in path.split("/")):
        return "has a segment that is empty, . or .."
    return None


def require_no_link(path: str | os.PathLike[str]) -> None:
    """Raises TargetError where this local file or folder is a link. What is not there is none."""
    if _is_link(os.fspath(path)):
        raise TargetError(
            f"{path} is a link, and what it leads to is not part of the table",
            remedy="Nothing was changed. Find out who put it there and move it away.",
        )


class LinkGuard:
    """Refuses links below one local folder, the folder itself excepted; each folder on the way is looked at once."""

    def __init__(self, root: str) -> None:
        self._root = str(local_path(root))
        self._seen: set[str] = set()

    def require_no_link(self, path: str) -> None:
        """Raises TargetError where a component of this path below the folder is a link."""
        at = self._root
        for segment in path.split("/"):
            at = os.path.join(at, segment)
            if at not in self._seen:
                require_no_link(at)
                self._seen.add(at)


def _is_link(path: str) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
