"""The only place a Spark session is made: local by default, a cluster or Spark Connect by URL, or the caller's own.

Everything here is the public DataFrame API, so that classic Spark and Spark Connect are treated alike.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import cast
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.config import Settings, is_secret_name
from lakebed.engines.spark import daemon
from lakebed.engines.spark.facts import CONNECT, OLDER_LACK, OLDEST
from lakebed.engines.spark.java import find_java
from lakebed.engines.spark.private_conf import private_conf
from lakebed.engines.spark.quiet import JvmLog, starting_quietly
from lakebed.engines.spark.shipping import ship_kernels
from lakebed.engines.spark.submitted import given_conf, is_submitted, launched_already
from lakebed.errors import ConfigError, EngineError
from lakebed.extras import is_older
from lakebed.storage import is_local, local_path

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_GIB = 2**30


@dataclass(frozen=True)
class Session:
    """A Spark session and what Lakebed must know of it; closes what it opened, and nothing of the caller's."""

    spark: SparkSession
    master: str
    local: bool  # workers see this machine's disks
    owned: bool
    shared_folders: tuple[str, ...] = ()

    def close(self) -> None:
        if self.owned:
            self.spark.stop()

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_session(settings: Settings, *, spark: SparkSession | None = None) -> Session:
    """The session to run on, with our kernels on its workers.

    The caller's session is used as it is and never stopped; so is one that is already active in this process, since
    Spark allows no second one beside it. Otherwise `remote` or `master` of the settings says where, then what
    spark-submit or the environment says, and `local[*]` is the default. Raises JavaMissing or EngineError with what
    Spark said.
    """
    remote = settings.spark.remote or (None if settings.spark.master else os.environ.get("SPARK_REMOTE"))
    if remote and not is_local_master(remote) and urlsplit(remote).scheme != "sc":
        raise ConfigError(f"{remote!r} is no Spark Connect URL", remedy="Write sc://host:port, or local[2].")
    theirs = spark or _active()
    if theirs is not None:
        session = _describe(theirs, settings, owned=False)
    elif remote:
        session = _start_connect(remote, settings)
    else:
        session = _start_submitted(settings) if is_submitted() else _start_classic(settings)
    _require_version(session)
    ship_kernels(session.spark)
    return session


def is_local_master(master: str) -> bool:
    """Workers are on this machine: `local`, `local[4]`, `local-cluster[2,1,1024]`."""
    return master == "local" or master.startswith(("local[", "local-cluster["))


def require_shared(uri: str, session: Session) -> None:
    """Refuses a place that only this machine can see when the session's workers are elsewhere."""
    if session.local or not is_local(uri):
        return
    path = local_path(uri).absolute()
    if any(path.is_relative_to(folder) for folder in session.shared_folders):
        return
    raise ConfigError(
        f"{uri} is a path on this machine, and the workers of {session.master} have disks of their own",
        remedy="Use storage that they reach, as in s3://bucket/folder (for staged copies: staging.location); where the "
        "folder is mounted everywhere under this path, name it in spark.shared_folders.",
    )


def _require_version(session: Session) -> None:
    """A client of ours may be new enough, and the server or the caller's session not."""
    if is_older(session.spark.version, OLDEST):
        version = session.spark.version
        session.close()
        raise EngineError(
            f"{session.master} runs Spark {version}, and {OLDEST} is the oldest that will do: {OLDER_LACK}",
            remedy=f"Use a Spark of {OLDEST} or newer.",
        )


def _active() -> SparkSession | None:
    try:
        return SparkSession.getActiveSession()
    except PySparkException:
        # A Connect session that was closed by its server is not one to use.
        return None


def _describe(spark: SparkSession, settings: Settings, *, owned: bool) -> Session:
    master = spark.conf.get("spark.master", "") or "a Spark Connect server"
    host = _connect_host(spark)
    local = is_local_master(master) and (host is None or host in _LOOPBACK)
    return Session(spark, master if host is None else f"sc://{host}", local, owned, settings.spark.shared_folders)


def _connect_host(spark: SparkSession) -> str | None:
    """The server's host, or None for a classic session."""
    client = getattr(spark, "client", None) if "connect" in type(spark).__module__ else None
    return cast("str | None", getattr(client, "host", None))


def _start_classic(settings: Settings) -> Session:
    given = given_conf()
    master = settings.spark.master or given.get("spark.master") or "local[*]"
    local = is_local_master(master)
    builder = SparkSession.builder.appName("lakebed").master(master).config("spark.api.mode", "classic")
    for name, value in _configuration(settings, local=local, given=given).items():
        if not is_secret_name(name):
            builder = builder.config(name, value)
    spark = _launch(builder, settings, local=local, what=master)
    return Session(spark, master, local, owned=True, shared_folders=settings.spark.shared_folders)


def _start_submitted(settings: Settings) -> Session:
    """As spark-submit was told, but for what our settings say by name."""
    builder = SparkSession.builder
    asked = dict(settings.spark.conf)
    if settings.spark.master:
        asked["spark.master"] = settings.spark.master
    if settings.spark.memory:
        asked["spark.driver.memory"] = settings.spark.memory
    if launched_already() and "spark.driver.memory" in asked:
        memory = asked["spark.driver.memory"]
        raise ConfigError(
            f"spark-submit has started Spark already: the driver's memory can no longer be set to {memory}",
            remedy="Give --driver-memory to spark-submit, and leave spark.memory out of the settings.",
        )
    for name, value in asked.items():
        if launched_already() or not is_secret_name(name):
            builder = builder.config(name, value)
    local = is_local_master(settings.spark.master or "")
    spark = _launch(builder, settings, local=local, what=settings.spark.master or "what spark-submit was told")
    return _describe(spark, settings, owned=True)


def _start_connect(remote: str, settings: Settings) -> Session:
    CONNECT.require("Spark Connect")
    builder = SparkSession.builder.appName("lakebed").remote(remote)
    own_server = is_local_master(remote)
    ours = _configuration(settings, local=True, given=given_conf())
    options = ours if own_server else {**_RUNTIME, **settings.spark.conf}
    if own_server:
        # Spark's own default is every interface of the machine.
        options = {"spark.connect.grpc.binding.address": "127.0.0.1", **options}
    for name, value in options.items():
        # A server that runs already gets them over its connection.
        if not own_server or not is_secret_name(name):
            builder = builder.config(name, value)
    spark = _launch(builder, settings, local=own_server, what=remote)
    return _describe(spark, settings, owned=True)


def _launch(builder: SparkSession.Builder, settings: Settings, *, local: bool, what: str) -> SparkSession:
    launches = urlsplit(what).scheme != "sc" and not launched_already()
    if launches:
        os.environ["JAVA_HOME"] = str(find_java().home)
    if local:
        # Otherwise workers run `python3` of PATH, which is not this environment's. It stays set: Connect servers and
        # later sessions of this process read it again.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        # A machine whose own name does not resolve can start, and no port is open to the network.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    secrets = {name: value for name, value in settings.spark.conf.items() if launches and is_secret_name(name)}
    with closing(JvmLog.open(settings.spark.log)) as log:
        try:
            with (
                private_conf(secrets),
                starting_quietly(log),
                _no_remote_of_the_environment(),
                _same_answer_to_interrupts(),
            ):
                return builder.getOrCreate()
        except (PySparkException, OSError, RuntimeError) as failure:
            said = log.tail()
            raise EngineError(
                f"Spark did not start on {what}: {failure}" + (f"\n{said}" if said else ""),
                remedy="`lakebed doctor` checks what Spark needs.",
            ) from failure


@contextmanager
def _no_remote_of_the_environment() -> Iterator[None]:
    """SPARK_REMOTE would turn a master that was asked for into a Connect session."""
    remote = os.environ.pop("SPARK_REMOTE", None)
    try:
        yield
    finally:
        if remote is not None:
            os.environ["SPARK_REMOTE"] = remote


@contextmanager
def _same_answer_to_interrupts() -> Iterator[None]:
    """pyspark puts a handler of its own in place of the program's; `run_tasks` cancels what an interrupt ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# Settings that any session can take while it runs.
_RUNTIME = {
    "spark.sql.session.timeZone": "UTC",
    # One batch is what a kernel gets at once; its memory is bounded by rows, not by files.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    # A decimal that does not fit, or text that is no number, must raise and never become NULL.
    "spark.sql.ansi.enabled": "true",
}


def _configuration(settings: Settings, *, local: bool, given: Mapping[str, str]) -> dict[str, str]:
    """Our defaults where the machine's Spark has none, under the user's."""
    ours = {
        **_RUNTIME,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
    }
    if local:
        ours["spark.driver.memory"] = driver_memory(machine_memory_bytes())
        ours |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Two hundred partitions are a cluster's default; AQE joins them, and their bookkeeping still costs.
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
        if daemon.startable():
            ours["spark.python.daemon.module"] = daemon.__name__
    asked = {"spark.driver.memory": settings.spark.memory} if settings.spark.memory else {}
    return {**{name: value for name, value in ours.items() if name not in given}, **asked, **settings.spark.conf}


def driver_memory(total_bytes: int) -> str:
    """A quarter of the machine, between 1g and 8g: in a load the rows are in the Python workers, not in the JVM."""
    return f"{max(1024, min(8 * 1024, total_bytes // 4 // 2**20))}m"


def machine_memory_bytes() -> int:
    """What this process may use: the machine's memory, or its container's limit where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                limit = file.read().strip()
        except OSError:
            continue
        if limit.isdigit():
            total = min(total, int(limit))
    return max(total, _GIB)
