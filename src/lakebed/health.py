"""`lakebed doctor`: each check says what it found and, where something is wrong, how to put it right."""

import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from lakebed.config import Settings, load_settings, unknown_environment
from lakebed.engines.registry import engine_facts, require_engine
from lakebed.errors import ExtraMissing, LakebedError
from lakebed.state.ledger import Ledger
from lakebed.storage import Storage, is_local
from lakebed.targets.registry import require_target

CheckState: TypeAlias = Literal["ok", "warning", "failed"]
_EXTENSIONS = ("httpfs", "avro", "iceberg", "aws")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `failed` must be put right; `warning` matters to those who want what it names."""

    name: str
    state: CheckState
    found: str
    fix: str | None = None


@dataclass(frozen=True)
class Health:
    """Every check in the order in which it was made; `ok` where nothing failed."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.state != "failed" for check in self.checks)

    def to_dict(self) -> dict[str, object]:
        return {"ok": self.ok, "checks": [asdict(check) for check in self.checks]}


def doctor(
    places: Sequence[str | os.PathLike[str]] = (),
    *,
    quick: bool = False,
    master: str | None = None,
    remote: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    on_check: Callable[[Check], object] | None = None,
) -> Health:
    """Checks Java, Spark, the work directory, the ledger, DuckDB, Iceberg and storage; says how to fix what is wrong.

    `quick` starts no Spark; `places` are folders and buckets that must be readable; `on_check` is called with each
    check as it is done, since starting Spark takes seconds.

    >>> lakebed.doctor(quick=True).ok
    True
    """
    settings = load_settings({"master": master, "remote": remote, "workdir": workdir and os.fspath(workdir)})
    checks = []
    for check in _examine(settings, quick=quick, places=[os.fspath(place) for place in places]):
        checks.append(check)
        if on_check is not None:
            on_check(check)
    return Health(tuple(checks))


def catalog_conf(workdir: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """The settings with which a user's own Spark opens our Iceberg tables: `lakebed doctor --spark-conf`."""
    require_target("iceberg", "the catalog of our Iceberg tables")
    from lakebed.targets.iceberg.catalog import CatalogSettings
    from lakebed.targets.iceberg.spark_conf import spark_conf

    settings = load_settings({"workdir": workdir and os.fspath(workdir)})
    return spark_conf(
        CatalogSettings.choose(None, settings.catalog, workdir=settings.workdir_path, storage=settings.storage)
    )


def _examine(settings: Settings, *, quick: bool, places: Sequence[str]) -> Iterator[Check]:
    spark = engine_facts("spark").extra
    yield _checked("Java", _java, needed=spark is None or not spark.missing)
    yield _checked("Spark", _spark_installed if quick else (lambda: _spark(settings)), needed=True)
    yield _checked("spark-submit", _submitted, needed=False)
    yield _checked("work directory", lambda: _workdir(settings), needed=True)
    yield _checked("ledger", lambda: _ledger(settings), needed=True)
    yield _checked("DuckDB", _duckdb, needed=True)
    yield _checked("DuckDB extensions", _extensions, needed=False)
    yield _checked("Iceberg", _iceberg, needed=False)
    if settings.storage.endpoint_url:
        yield _checked("S3 endpoint", lambda: _endpoint(settings), needed=True)
    if settings.staging.location and not is_local(settings.staging.location):
        places = (*places, settings.staging.location)
    storage = Storage(settings.storage)
    for place in places:
        yield _checked(place, lambda place=place: _readable(storage, place), needed=True)  # type: ignore[misc]
    if unknown := unknown_environment():
        yield Check("environment", "warning", f"not settings: {', '.join(unknown)}", "See docs/reference/settings.md.")


def _checked(name: str, look: Callable[[], str], *, needed: bool) -> Check:
    try:
        return Check(name, "ok", look())
    except ExtraMissing as absent:
        # Whoever installed without it may do without it.
        return Check(name, "warning", absent.message, absent.remedy)
    except LakebedError as problem:
        return Check(name, "failed" if needed else "warning", problem.message, problem.remedy)
    except OSError as problem:
        return Check(name, "failed" if needed else "warning", str(problem))


def _java() -> str:
    from lakebed.engines.spark.java import find_java

    java = find_java()
    return f"Java {java.major} in {java.home}"


def _spark_installed() -> str:
    require_engine("spark", "a load with `lakebed run`")
    from lakebed.engines.spark.probe import driver_version

    return f"pyspark {driver_version()}, not started"


def _submitted() -> str:
    require_engine("spark", "a load with `lakebed run`")
    from lakebed.engines.spark.submitted import PROGRAM

    return f"runs {PROGRAM}"


def _spark(settings: Settings) -> str:
    require_engine("spark", "a load with `lakebed run`")
    from lakebed.engines.spark.probe import probe_worker
    from lakebed.engines.spark.session import open_session

    started = time.monotonic()
    with open_session(settings) as session:
        worker = probe_worker(session)
        seconds = time.monotonic() - started
        gunzip = "fast gunzip" if worker.isal else "no isal: gunzip is slower"
        return (
            f"{session.spark.version} on {session.master}; workers: Python {worker.python}, pyarrow {worker.pyarrow}, "
            f"{gunzip}; {seconds:.1f} s"
        )


def _workdir(settings: Settings) -> str:
    """Writes where the work directory is or would be, and leaves nothing behind."""
    folder = settings.workdir_path
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as refused:
        raise LakebedError(
            f"{settings.workdir} cannot be written: {refused.strerror}", remedy="Choose another with --workdir."
        ) from refused
    room = os.statvfs(folder)
    return f"{settings.workdir}, {room.f_bavail * room.f_frsize / 2**30:.0f} GiB free"


def _ledger(settings: Settings) -> str:
    with Ledger.read(settings.ledger_place) as ledger:
        return f"{len(ledger.deliveries())} deliveries, {len(ledger.loads())} loads"


def _duckdb() -> str:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SELECT 1")
    return duckdb.__version__


def _extensions() -> str:
    import duckdb

    from lakebed.engines.duckdb.extensions import load_extension

    with duckdb.connect() as connection:
        for name in _EXTENSIONS:
            load_extension(connection, name)
    return f"{', '.join(_EXTENSIONS)} load without a network"


def _iceberg() -> str:
    require_target("iceberg", "the target iceberg:")
    import pyiceberg

    return f"pyiceberg {pyiceberg.__version__}"


def _endpoint(settings: Settings) -> str:
    url = settings.storage.endpoint_url or ""
    try:
        with urllib.request.urlopen(url, timeout=10):
            return f"{url} answers"
    except urllib.error.HTTPError as answer:
        # An unsigned request is refused, by a server that is there.
        answer.close()
        return f"{url} answers"
    except (urllib.error.URLError, ValueError, TimeoutError) as silence:
        raise LakebedError(
            f"{url} does not answer: {getattr(silence, 'reason', silence)}",
            remedy="Check storage.endpoint_url in lakebed.toml, or LAKEBED_STORAGE_ENDPOINT_URL.",
        ) from silence


def _readable(storage: Storage, place: str) -> str:
    first = next(iter(storage.list(place)), None)
    return "empty, or not there yet" if first is None else "can be listed"
