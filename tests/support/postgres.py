"""A real PostgreSQL server on 127.0.0.1, where this machine has one."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest


@contextmanager
def postgres_server() -> Iterator[str]:
    """The SQLAlchemy URL of an empty database on a server that ends when the block does."""
    initdb, server = _tool("initdb"), _tool("postgres")
    if initdb is None or server is None:
        pytest.skip("PostgreSQL is not installed here")
    # The server refuses to run as root.
    user = "nobody" if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="lakebed-postgres-") as folder, socket.socket() as free:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data = f"{folder}/data"
        subprocess.run(
            [initdb, "-D", data, "-U", "lakebed", "-A", "trust", "--no-sync"],
            user=user,
            check=True,
            capture_output=True,
        )
        command = [server, "-D", data, "-p", str(port), "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off"]
        process = subprocess.Popen(command, user=user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _await(port, process)
            yield f"postgresql+psycopg://lakebed@127.0.0.1:{port}/postgres"
        finally:
            # The fast way to shut down: the other one waits for connections that a pool still holds.
            process.send_signal(signal.SIGINT)
            process.wait()


def _tool(name: str) -> str | None:
    found = shutil.which(name)
    return found or next((str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    """The server accepts connections a moment before it answers them."""
    while process.poll() is None:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="lakebed", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("PostgreSQL did not start")
