"""What travels to workers: a zip of the kernels and the little they import, so that a worker needs only pyarrow."""

import atexit
import hashlib
import io
import sys
import tempfile
import weakref
import zipfile
from functools import cache
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession

# The oldest date a zip can hold: with fixed dates and order, equal sources give equal bytes on every machine.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODULES = ("__init__.py", "errors.py", "model.py")
_SHIPPED: "weakref.WeakSet[SparkSession]" = weakref.WeakSet()


def kernels_zip() -> bytes:
    """`lakebed/kernels/*.py` and the modules below `lakebed` that they import, packed the same way every time."""
    package = files("lakebed")
    sources = {f"lakebed/{name}": package.joinpath(name).read_bytes() for name in _MODULES}
    for file in package.joinpath("kernels").iterdir():
        if file.name.endswith(".py"):
            sources[f"lakebed/kernels/{file.name}"] = file.read_bytes()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(sources):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), sources[name])
    return packed.getvalue()


@cache
def _folder() -> Path:
    """Where zips lie until this process ends: workers of a classic session fetch them from there when they start."""
    folder = tempfile.TemporaryDirectory(prefix="lakebed-kernels-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


def ship_kernels(spark: SparkSession) -> None:
    """Gives a session's workers the kernels, once per session: classic, Connect and cluster alike."""
    if spark in _SHIPPED:
        return
    content = kernels_zip()
    # Spark refuses a second file of the same name and other content, so the name says the content.
    name = f"lakebed-kernels-{hashlib.sha256(content).hexdigest()[:16]}.zip"
    path = _folder() / name
    path.write_bytes(content)
    spark.addArtifacts(str(path), pyfile=True)
    # A classic session also puts the zip in front of the driver's own path, where it would hide the rest of lakebed
    # from every process that the driver starts.
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(name)]
    _SHIPPED.add(spark)
