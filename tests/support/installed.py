"""The wheel as a stranger gets it: built, and installed into empty environments with the versions of the lock file."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[2]
# What uv and pip say where there is no way to an index: the machine's fault, not the package's.
NO_WAY = re.compile(
    r"error sending request|network was disabled|Failed to fetch|dns error|Temporary failure in name|Connection refused"
    r"|Could not connect|NewConnectionError|ConnectTimeout",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Ran:
    """What a command said, and how it ended."""

    code: int
    output: str

    @property
    def extras(self) -> frozenset[str]:
        """The extras that it says to install."""
        found = re.findall(r"pip install ['\"]lakebed\[([\w,-]+)\]['\"]", self.output)
        return frozenset(name for names in found for name in names.split(","))


@dataclass(frozen=True)
class Environment:
    """A virtual environment that has Lakebed, what it depends on, and nothing else."""

    folder: Path

    def lakebed(self, *arguments: str, cwd: Path, **variables: str) -> Ran:
        """Runs the command as a user would, without what this process has in its environment of ours or Python's."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("LAKEBED_", "PYTHON"))}
        ran = subprocess.run(
            [self.folder / "bin" / "lakebed", *arguments],
            cwd=cwd,
            env={**clean, "PYTHONPYCACHEPREFIX": str(self.folder / "pycache"), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout)


def build_wheel(folder: Path) -> Path:
    """The wheel of this source tree, built by what the lock file has: nothing is downloaded."""
    _uv("build", "--wheel", "--offline", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT)
    [wheel] = folder.glob("lakebed-*.whl")
    return wheel


def install(
    wheel: Path, folder: Path, *, extras: str = "", python: str = sys.executable, instead: tuple[str, ...] = ()
) -> Environment:
    """A new environment with the wheel and these extras, at the versions of the lock file, or of `instead`."""
    _uv("venv", "--no-project", "--python", python, folder)
    pins = folder / "pins.txt"
    lines = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8").splitlines()
    others = {one.partition("==")[0] for one in instead}
    kept = (line.removesuffix(" \\") for line in lines if "--hash" not in line)
    pins.write_text("\n".join(line for line in kept if line.partition("==")[0] not in others), encoding="utf-8")
    what = f"{wheel}[{extras}]" if extras else str(wheel)
    said = run_module("uv", "pip", "install", "-q", "--python", folder / "bin" / "python", "-c", pins, what, *instead)
    if said is not None and find_spec("pip") is not None:
        said = run_module("pip", "--python", folder / "bin" / "python", "install", "-q", "-c", pins, what, *instead)
    if said is not None and NO_WAY.search(said):
        pytest.skip("no index can be reached from here, and what is cached is not enough")
    assert said is None, said
    return Environment(folder)


def find_python(version: str) -> str:
    """An interpreter of this version, on PATH or of pyenv; skips the test where the machine has none."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [which(f"python{version}"), *map(str, versions.glob(f"{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        # A shim of pyenv is on PATH also where the version that it stands for is not chosen.
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        ran = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if ran.stdout.strip() == version:
            return candidate
    pytest.skip(f"this machine has no Python {version}")


def _uv(*arguments: str | Path) -> None:
    said = run_module("uv", *arguments)
    assert said is None, said


def run_module(module: str, *arguments: str | Path) -> str | None:
    """Runs uv or pip of this environment; returns what it said where it failed."""
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "UV_SYSTEM_CERTS": os.environ.get("UV_SYSTEM_CERTS", "1")},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return None if ran.returncode == 0 else ran.stdout
