"""`lakebed doctor`: each check says what it found and, where something is wrong, how to put it right."""

import os
import platform
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from lakebed.config import Settings, load_settings, unknown_environment
from lakebed.engines.registry import engine_facts, require_engine
from lakebed.errors import ExtraMissing, LakebedError
from lakebed.state.ledger import Ledger
from lakebed.storage import Storage, is_local
from lakebed.targets.registry import require_target

if TYPE_CHECKING:
    from lakebed.engines.spark.probe import Workers
    from lakebed.engines.spark.session import Session

CheckState: TypeAlias = Literal["ok", "warning", "failed"]
# Beyond it a timestamp in a log misleads, and at fifteen minutes object stores refuse every request.
CLOCK_LIMIT_SECONDS = 60.0
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

    `quick` starts no Spark; `places` are folders and buckets that must be readable, from here and from the workers of a
    cluster; `on_check` is called with each check as it is done, since starting Spark takes seconds.

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
    if settings.staging.location and not is_local(settings.staging.location):
        places = (*places, settings.staging.location)
    if quick:
        yield _checked("Spark", _spark_installed, needed=True)
    else:
        yield from _spark(settings, places)
    yield _checked("spark-submit", _submitted, needed=False)
    yield _checked("work directory", lambda: _workdir(settings), needed=True)
    yield _checked("ledger", lambda: _ledger(settings), needed=True)
    yield _checked("DuckDB", _duckdb, needed=True)
    yield _checked("DuckDB extensions", _extensions, needed=False)
    yield _checked("Iceberg", _iceberg, needed=False)
    if settings.storage.endpoint_url:
        yield _checked("S3 endpoint", lambda: _endpoint(settings), needed=True)
    storage = Storage(settings.storage)
    for place in places:
        yield _checked(place, partial(_readable, storage, place), needed=True)
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


def _spark(settings: Settings, places: Sequence[str]) -> Iterator[Check]:
    """The session and, where its workers have disks and clocks of their own, what they have and reach."""
    with ExitStack() as stack:
        started = time.monotonic()
        opened: list[Session] = []

        def start() -> str:
            require_engine("spark", "a load with `lakebed run`")
            from lakebed.engines.spark.session import open_session

            session = stack.enter_context(open_session(settings))
            opened.append(session)
            return f"{session.spark.version} on {session.master}; {time.monotonic() - started:.1f} s"

        yield _checked("Spark", start, needed=True)
        for session in opened:
            yield from _workers(settings, session, places)


def _workers(settings: Settings, session: "Session", places: Sequence[str]) -> Iterator[Check]:
    from lakebed.engines.spark.probe import Workers, probe_workers

    staging = [] if session.local else [settings.staging_location]
    wanted = () if session.local else dict.fromkeys((*staging, *places))
    unshared = {place: refusal for place in wanted if (refusal := _unshared(place, session)) is not None}
    read = [place for place in wanted if place not in unshared and place not in staging]
    write = [place for place in staging if place not in unshared]
    answered: list[Workers] = []

    def ask() -> str:
        workers = probe_workers(session, settings.storage, read=read, write=write)
        answered.append(workers)
        return _describe(workers)

    yield _checked("workers", ask, needed=True)
    for workers in answered:
        if session.local:
            return
        yield _checked("workers' clocks", partial(_clocks, workers.clock_off_seconds), needed=True)
        for place in (*write, *read):
            name = f"workers reach {place}"
            yield _checked(name, partial(_reach, place, workers), needed=True)
    for place, refusal in unshared.items():
        yield Check(f"workers reach {place}", "failed", refusal.message, refusal.remedy)


def _describe(workers: "Workers") -> str:
    """Refuses workers whose Python is not the driver's: what is pickled here cannot be read there."""
    here = ".".join(platform.python_version_tuple()[:2])
    for one in workers.found:
        if ".".join(one.python.split(".")[:2]) != here:
            raise LakebedError(
                f"{one.host} runs Python {one.python} ({one.executable}), and the driver {platform.python_version()}",
                remedy="Workers need the driver's minor version; PYSPARK_PYTHON on the driver says which one they run.",
            )
    pythons = " and ".join(sorted({f"Python {one.python}, pyarrow {one.pyarrow}" for one in workers.found}))
    gunzip = "fast gunzip" if all(one.isal for one in workers.found) else "no isal: gunzip is slower"
    hosts = ", ".join(workers.hosts[:5]) + (" and more" if len(workers.hosts) > 5 else "")
    return f"{pythons}, {gunzip}; on {hosts}"


def _clocks(off: float) -> str:
    if off > CLOCK_LIMIT_SECONDS:
        raise LakebedError(
            f"a worker's clock is {off:.0f} s away from this machine's",
            remedy="Synchronise the clocks (chrony, ntp): object stores refuse requests that are 15 minutes off.",
        )
    return f"within {off:.0f} s of this machine's" if off >= 1 else "agree with this machine's"


def _unshared(place: str, session: "Session") -> LakebedError | None:
    from lakebed.engines.spark.session import require_shared

    try:
        require_shared(place, session)
    except LakebedError as refusal:
        return refusal
    return None


def _reach(place: str, workers: "Workers") -> str:
    refusal = workers.refusal(place)
    if refusal is None:
        return "from every worker that was asked"
    host, why = refusal
    raise LakebedError(
        f"{host} cannot use it: {why}",
        remedy="Workers sign with the keys under [storage] or, where none are set, with their own machine's role.",
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
