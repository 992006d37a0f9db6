"""What tests on Spark share."""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest


@pytest.fixture
def pyarrow_only(tmp_path: Path) -> Path:
    """A Python environment in which pyarrow is the only package."""
    folder = tmp_path / "worker"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    for name in ("pyarrow", "pyarrow.libs"):
        installed = Path(sysconfig.get_paths()["platlib"]) / name
        if installed.exists():
            (packages / name).symlink_to(installed)
    return folder / "bin" / "python"
