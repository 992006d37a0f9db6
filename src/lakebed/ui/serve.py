"""Serving the explorer on this machine until a signal asks it to end."""

import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from lakebed.errors import LakebedError
from lakebed.ui.api import Explorer
from lakebed.ui.app import make_app

HOST = "127.0.0.1"
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Server(uvicorn.Server):
    """Ends in order on SIGINT and SIGTERM; uvicorn would raise the signal again once it has ended."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def serve(explorer: Explorer, *, port: int = 0, announce: Callable[[str], None]) -> None:
    """Serves until a signal comes; `announce` is called with the URL when requests are accepted."""
    with _listen(port) as listening:
        chosen = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        app = make_app(explorer, token=token, port=chosen)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="off", timeout_graceful_shutdown=2
        )
        server = _Server(config)
        with server.capture_signals():
            announce(f"http://{HOST}:{chosen}/?token={token}")
            server.run(sockets=[listening])


@contextmanager
def _listen(port: int) -> Iterator[socket.socket]:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise LakebedError(
                f"port {port} of {HOST} cannot be used: {error.strerror}",
                remedy="Choose another with --port, or leave it out: then a free one is chosen.",
            ) from error
        listening.listen(128)
        yield listening
    finally:
        listening.close()
