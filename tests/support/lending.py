"""A REST catalog that hands out keys which live until somebody ends them, before a real one and its storage.

It stands in for Polaris, Glue and others that vend credentials. Requests to the catalog are passed on, and answers that
hold a table get new keys with a token. Requests to the storage must carry keys that live; they are signed again with
those of the storage, which nobody else knows.
"""

import contextlib
import http.client
import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]

from tests.support.s3_server import S3Server

EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
_NOT_PASSED_ON = {"host", "authorization", "content-length", "transfer-encoding", "connection", "expect"}
_OF_THE_OLD_SIGNATURE = {"x-amz-security-token", "x-amz-date", "x-amz-content-sha256", "amz-sdk-request"}


@dataclass
class Lender:
    """What was handed out, and what was asked with it."""

    storage: S3Server
    catalog: str
    uri: str = ""
    living: dict[str, str] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    refused: int = 0
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def lend(self) -> dict[str, str]:
        number = next(self.numbers)
        key, token = f"LENT{number:05d}", f"token-{number}"
        self.living[key] = token
        return {
            "s3.access-key-id": key,
            "s3.secret-access-key": f"secret-{number}",
            "s3.session-token": token,
            "s3.endpoint": self.uri,
            "s3.region": self.storage.region,
        }

    def expire(self) -> None:
        """Ends every key that was handed out so far."""
        self.living.clear()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lender: Lender

    def answer(self) -> None:
        body = self._body()
        is_catalog = self.path.startswith("/v1/")
        status, headers, content = self._to_catalog(body) if is_catalog else self._to_storage(body)
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "transfer-encoding", "connection"}:
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def _body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        body = b"".join(self._chunks()) if chunked else self.rfile.read(int(self.headers.get("Content-Length") or 0))
        streams = self.headers.get("x-amz-content-sha256", "").startswith("STREAMING")
        return _decoded(body) if streams else body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _to_catalog(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        given = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
        status, headers, content = _ask(self.lender.catalog, self.command, self.path, given, body)
        asks = "vended-credentials" in self.headers.get("X-Iceberg-Access-Delegation", "")
        *_, above, last = self.path.partition("?")[0].split("/")
        has_table = above == "tables" if self.command == "GET" else last == "tables" and self.command == "POST"
        return status, headers, self._with_keys(content) if asks and status == 200 and has_table else content

    def _with_keys(self, content: bytes) -> bytes:
        answer = json.loads(content)
        answer["config"] = {**answer.get("config", {}), **self.lender.lend()}
        return json.dumps(answer).encode()

    def _to_storage(self, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        lender = self.lender
        key = self.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0]
        token = self.headers.get("x-amz-security-token")
        if lender.living.get(key) != token or token is None:
            lender.refused += 1
            return 403, {"Content-Type": "application/xml"}, EXPIRED
        if self.command == "PUT":
            lender.written.append(self.path.split("?")[0])
        kept = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in _NOT_PASSED_ON | _OF_THE_OLD_SIGNATURE
            and not name.lower().startswith(("x-amz-checksum", "x-amz-trailer", "x-amz-sdk", "x-amz-decoded"))
            and value != "aws-chunked"
        }
        server = lender.storage
        request = AWSRequest(self.command, f"{server.endpoint}{self.path}", headers=kept, data=body)
        keys = Credentials(server.access_key, server.secret_key)
        S3SigV4Auth(keys, "s3", server.region).add_auth(request)
        return _ask(server.endpoint, self.command, self.path, dict(request.headers.items()), body)


def _decoded(body: bytes) -> bytes:
    """The content of a body that its client signed, or summed up, piece by piece."""
    parts = []
    while body:
        head, _, body = body.partition(b"\r\n")
        size = int(head.split(b";")[0] or b"0", 16)
        if size == 0:
            break
        parts.append(body[:size])
        body = body[size + 2 :]
    return b"".join(parts)


def _ask(
    base: str, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection(urlsplit(base).netloc)
    try:
        connection.request(method, path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


@contextlib.contextmanager
def lending_catalog(storage: S3Server, catalog: str) -> Iterator[Lender]:
    """A lender before this catalog and this storage, under one address on 127.0.0.1."""
    lender = Lender(storage, catalog)
    handler = type("Handler", (_Handler,), {"lender": lender})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    lender.uri = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield lender
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
