"""Real Sparks for tests: a standalone cluster and a Connect server on this machine, from pyspark's wheel alone."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lakebed.engines.spark.java import find_java
from lakebed.errors import EngineError

# They only end what hangs: a busy machine takes its time.
STARTING_SECONDS = 900
STOPPING_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A running Spark: its URL, and the environment that a driver on this machine needs."""

    url: str
    environment: Mapping[str, str]

    def run(self, code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
        """Runs a driver program, whose first argument is the URL, and returns what it printed. See `run_python`."""
        return run_python(code, self.url, *arguments, environment={**self.environment, **(environment or {})})


@contextmanager
def standalone_cluster(*, workers: int = 2) -> Iterator[Server]:
    """A master and its workers, each a process with one core and disks of its own in name; all are gone at the end.

    Which Python the workers run is the driver's PYSPARK_PYTHON, here this interpreter.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lakebed-cluster-")))
        environment = _environment()

        def start(role: str, *arguments: str, host: str = "127.0.0.1", says: str) -> str:
            command = ["spark-class", f"org.apache.spark.deploy.{role}", "--host", host, "--webui-port", "0"]
            log = folder / f"{role}-{len(list(folder.iterdir()))}.log"
            return stack.enter_context(_daemon([*command, *arguments], log=log, says=says, environment=environment))

        master = start("master.Master", "--port", "0", says=r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            place = ("--work-dir", str(folder / f"work-{number}"), master)
            # An address each: Spark starts no second attempt of a task on the host of the first.
            own = f"127.0.0.{number + 1}"
            start(
                "worker.Worker",
                "--cores",
                "1",
                "--memory",
                "1g",
                *place,
                host=own,
                says=r"registered with master (\S+)",
            )
        yield Server(master, environment)


@contextmanager
def connect_server() -> Iterator[Server]:
    """A Spark Connect server with a local master of two cores, reached as any remote one."""
    with tempfile.TemporaryDirectory(prefix="lakebed-connect-") as folder:
        environment = _environment() | {"SPARK_DAEMON_MEMORY": "1g"}
        # fmt: off
        command = [
            "spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
            "--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.connect.grpc.binding.port=0",
            "--conf", "spark.connect.grpc.binding.address=127.0.0.1", "--conf", f"spark.local.dir={folder}",
            "spark-internal",
        ]
        # fmt: on
        log = Path(folder) / "connect.log"
        started = r"Spark Connect server started at: 127.0.0.1:(\d+)"
        with _daemon(command, log=log, says=started, environment=environment) as port:
            yield Server(f"sc://127.0.0.1:{port}", environment)


def _environment() -> dict[str, str]:
    return {
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }


def run_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> str:
    """Runs a program in a process of its own and returns its stdout: classic and Connect sessions share no process.

    Raises EngineError with its stderr when it fails.
    """
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise EngineError(f"the program ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")
    return ran.stdout


def spark_home() -> Path:
    """The folder of the pyspark package, which is a whole Spark."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EngineError("pyspark is not installed")
    return Path(spec.origin).parent


@contextmanager
def _daemon(command: Sequence[str], *, log: Path, says: str, environment: Mapping[str, str]) -> Iterator[str]:
    """A process of Spark's until the end of the block; the value is what it said when it was ready."""
    script = str(spark_home() / "bin" / command[0])
    with log.open("wb") as output:
        process = subprocess.Popen(
            [script, *command[1:]],
            env={**os.environ, **environment, "SPARK_HOME": str(spark_home())},
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield _await(log, says, process)
    finally:
        process.terminate()
        try:
            process.wait(STOPPING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await(log: Path, pattern: str, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(pattern, log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise EngineError(f"a process of Spark did not start:\n{log.read_text(errors='replace')[-2000:]}")
