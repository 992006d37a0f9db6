"""`lakebed ui` as a user types it."""

import json
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import lakebed.ui

pytestmark = pytest.mark.processes

PROGRAM = [sys.executable, "-c", "from lakebed.cli import main; main()", "ui"]


def refused(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_serves_and_ends_in_order(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "a.sql").write_text("CREATE VIEW v AS SELECT a FROM t")
    command = [*PROGRAM, "a.sql", "--no-open", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        assert url.startswith("http://127.0.0.1:")
        # the redirect of the first visit sets the cookie that the second has
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(url) as page:
            assert b'src="/explorer.js"' in page.read()
        with opener.open(url.partition("?")[0] + "api/project") as answer:
            assert json.loads(answer.read())["tables"] == 2
        server.send_signal(number)
        rest, said = server.communicate()
    assert (server.returncode, rest) == (0, "")
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = refused("--port", str(port), "--no-open", "--json", cwd=tmp_path)
    assert ended.returncode == 1
    assert f"port {port}" in json.loads(ended.stdout)["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("nowhere.sql",), "nowhere.sql"), (("--dialect", "cobol"), "cobol"), (("--schema", "no.json"), "no.json")],
)
def test_what_cannot_be_read_is_refused_before_it_serves(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    ended = refused(*arguments, "--no-open", "--json", cwd=tmp_path)
    assert ended.returncode in (1, 2)
    assert says in json.loads(ended.stdout)["error"]["message"]


def test_its_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    with pytest.raises(lakebed.LakebedError, match=r"lakebed\[ui\]"):
        lakebed.ui.EXPLORER.require("the explorer")
