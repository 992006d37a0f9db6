"""Finds a Java that Spark can run on, among the several that a machine may have."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import JavaMissing

# What Spark 4.x is built and tested for. Newer ones start and then fail on removed internals.
FITTING = (17, 21)
_USUAL_FOLDERS = (
    "/usr/lib/jvm",
    "/usr/java",
    "/opt",
    "/opt/java",
    "/Library/Java/JavaVirtualMachines",
    "~/.sdkman/candidates/java",
)


@dataclass(frozen=True)
class Java:
    """One Java installation: its folder and its major version."""

    home: Path
    major: int

    @property
    def fits(self) -> bool:
        return self.major in FITTING


def find_java() -> Java:
    """The Java to run Spark with: JAVA_HOME when it fits, else the one on PATH, else one of the usual folders.

    Raises JavaMissing, which names what was found instead and how to get one that fits.
    """
    seen: list[Java] = []
    for home in _candidates():
        java = _inspect(home)
        if java is None:
            continue
        if java.fits:
            return java
        seen.append(java)
    raise JavaMissing(fitting=FITTING, found=tuple(f"Java {java.major} in {java.home}" for java in seen))


def _candidates() -> Iterator[Path]:
    if configured := os.environ.get("JAVA_HOME"):
        yield Path(configured)
    if on_path := shutil.which("java"):
        yield Path(on_path).resolve().parent.parent
    for folder in _USUAL_FOLDERS:
        for binary in sorted(Path(folder).expanduser().glob("*/bin/java")):
            yield binary.parent.parent
        for binary in sorted(Path(folder).expanduser().glob("*/Contents/Home/bin/java")):
            yield binary.parent.parent


def _inspect(home: Path) -> Java | None:
    """The version from the `release` file, which is instant, else from running the binary."""
    binary = home / "bin" / "java"
    if not binary.exists():
        return None
    release = home / "release"
    text = release.read_text(errors="replace") if release.exists() else ""
    version = re.search(r'JAVA_VERSION="([^"]+)"', text)
    if version is None:
        try:
            ran = subprocess.run([str(binary), "-version"], capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        version = re.search(r'version "([^"]+)"', ran.stderr)
    if version is None:
        return None
    parts = version[1].split(".")
    major = parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]
    digits = re.match(r"\d+", major)
    return Java(home=home, major=int(digits[0])) if digits else None


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{find_java().home}\n")
    except JavaMissing as missing:
        sys.exit(f"setup: {missing}")
