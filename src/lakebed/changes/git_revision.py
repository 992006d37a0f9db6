"""A folder as it was at a git revision, written out where it can be read."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakebed.errors import ConfigError, LineageError


@contextmanager
def folder_at_revision(folder: Path, revision: str) -> Iterator[Path]:
    """The folder's files at a revision, in a place that is removed afterwards; empty where it was not there yet."""
    root = Path(_git(folder, "rev-parse", "--show-toplevel").strip())
    commit = _commit(folder, revision)
    inside = folder.resolve().relative_to(root.resolve())
    with tempfile.TemporaryDirectory(prefix="lakebed-revision-") as place:
        listed = _git(folder, "ls-tree", "-d", "--full-tree", commit, f"{inside}" if inside.parts else "")
        if listed.strip() or not inside.parts:
            # from the top of the repository, where paths mean what ls-tree says
            archive = _git_bytes(root, "archive", "--format=tar", commit, "--", str(inside) if inside.parts else ".")
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(place, filter="data")
        found = Path(place) / inside
        found.mkdir(parents=True, exist_ok=True)
        yield found


def is_revision(folder: Path, text: str) -> bool:
    """Whether a text names a commit of the repository that a folder lies in."""
    try:
        _commit(folder, text)
    except (ConfigError, LineageError):
        return False
    return True


def _commit(folder: Path, revision: str) -> str:
    try:
        return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except LineageError:
        raise ConfigError(
            f"{revision} is neither a folder nor a revision of the git repository of {folder}",
            remedy="Give a folder, a branch, a tag or a commit.",
        ) from None


def _git(folder: Path, *arguments: str) -> str:
    return _git_bytes(folder, *arguments).decode("utf-8", "replace")


def _git_bytes(folder: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(folder), *(argument for argument in arguments if argument)]
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise ConfigError("git is not installed", remedy="Give a folder instead of a revision.") from error
    if done.returncode:
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"])[-1]
        raise LineageError(f"git {arguments[0]} in {folder}: {said}", remedy="Give a folder instead of a revision.")
    return done.stdout
