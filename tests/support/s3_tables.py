"""MiniStack as AWS S3 Tables: table buckets with ARNs, and an Iceberg REST catalog whose prefixes are those ARNs."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lakebed.errors import StorageError
from lakebed.kernels.storage_settings import StorageSettings

REGION = "us-east-1"
READY_WITHIN_SECONDS = 900.0  # it only ends what hangs


@dataclass(frozen=True, slots=True)
class S3Tables:
    """A running emulation and one table bucket in it."""

    endpoint: str
    bucket_arn: str

    @property
    def settings(self) -> StorageSettings:
        return StorageSettings(
            endpoint_url=self.endpoint, region=REGION, access_key_id="test", secret_access_key="test"
        )

    @property
    def catalog_properties(self) -> dict[str, str]:
        """As on AWS, but for the host: the ARN of the table bucket is the warehouse, requests are signed."""
        return {
            "type": "rest",
            "uri": f"{self.endpoint}/iceberg",
            "warehouse": self.bucket_arn,
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
            "rest.signing-region": REGION,
            "client.region": REGION,
            "client.access-key-id": "test",
            "client.secret-access-key": "test",
        }


@contextlib.contextmanager
def s3_tables(bucket: str = "lake") -> Iterator[S3Tables]:
    """MiniStack on a free port of 127.0.0.1 with a fresh table bucket; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ministack-") as folder:
        log = Path(folder) / "log"
        environment = {
            **os.environ,
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "HOME": folder,
        }
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "ministack"], cwd=folder, env=environment, stdout=output, stderr=output
            )
        try:
            endpoint = f"http://127.0.0.1:{port}"
            yield S3Tables(endpoint, _create_bucket(endpoint, bucket, process, log))
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _create_bucket(endpoint: str, name: str, process: "subprocess.Popen[bytes]", log: Path) -> str:
    scope = f"test/20260101/{REGION}/s3tables/aws4_request"
    request = urllib.request.Request(
        f"{endpoint}/buckets",
        data=json.dumps({"name": name}).encode(),
        method="PUT",
        headers={
            "Content-Type": "application/json",
            "Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none",
        },
    )
    deadline = time.monotonic() + READY_WITHIN_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return str(json.load(answer)["arn"])
        except urllib.error.HTTPError as refused:
            raise StorageError(f"MiniStack made no table bucket: {refused.read()!r}") from refused
        except OSError:
            time.sleep(0.3)
    raise StorageError(f"MiniStack did not come up: {log.read_text(errors='replace')[-2000:]}")
