"""What lies below a folder, so that a test can say: nothing was touched."""

import os
from pathlib import Path


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file, folder and link below, with its inode, its time and what it holds."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            facts = path.lstat()
            plain = path.is_file() and not path.is_symlink()
            found[str(path)] = (facts.st_ino, facts.st_mtime_ns, path.read_bytes() if plain else b"")
    return found
