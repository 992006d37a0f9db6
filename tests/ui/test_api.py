"""The explorer's API: who may ask, what it answers, and what it never tells or touches."""

import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient
from tests.support.file_trees import everything

import lakebed
from lakebed.ui.analyses import Sources
from lakebed.ui.api import ENDPOINTS, Endpoint, Explorer
from lakebed.ui.app import make_app
from lakebed.ui.guard import LARGEST_BODY
from lakebed.ui.openapi import document
from lakebed.ui.questions import Nothing

TOKEN = "a-token-of-this-test"
PORT = 8123
HOST = f"127.0.0.1:{PORT}"
SQL = """CREATE TABLE cur (id INT, account INT, cost DECIMAL(18, 2));
CREATE VIEW costs AS SELECT account, cost AS amount FROM cur WHERE id > 0;
CREATE TABLE monthly AS SELECT account, sum(amount) AS total FROM costs GROUP BY account;
SELECT * FROM elsewhere;
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "a.sql").write_text(SQL)
    return folder


def client_of(sources: Sources, *, token: str = TOKEN, seconds: float = 60.0, host: str = HOST) -> TestClient:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    app = make_app(Explorer(sources), token=TOKEN, port=PORT, seconds=seconds)
    return TestClient(app, base_url=f"http://{host}", headers=headers, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(project: Path) -> Iterator[TestClient]:
    workdir = str(project / "work")
    with client_of(Sources((str(project / "a.sql"),), dialect="duckdb", workdir=workdir)) as made:
        yield made


def file_of(client: TestClient) -> str:
    return str(client.get("/api/project").json()["files"][0]["name"])


# who may ask


@pytest.mark.parametrize("path", ["/", "/explorer.js", "/api/project", "/api/openapi.json", "/api/no-such"])
def test_nothing_is_told_without_the_token(project: Path, path: str) -> None:
    with client_of(Sources((str(project),)), token="") as stranger:
        assert stranger.get(path).status_code == 401
        assert stranger.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert stranger.get("/", params={"token": "wrong"}).status_code == 401


def test_the_token_of_the_url_becomes_a_cookie_and_leaves_the_address(project: Path) -> None:
    with client_of(Sources((str(project),)), token="") as browser:
        first = browser.get("/", params={"token": TOKEN}, follow_redirects=False)
        assert (first.status_code, first.headers["location"]) == (303, "/")
        assert "HttpOnly" in first.headers["set-cookie"]
        assert "SameSite=Strict" in first.headers["set-cookie"]
        assert browser.get("/").status_code == 200
        assert browser.get("/api/project").status_code == 200


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:9", "127.0.0.1", "localhost.evil.example:8123"])
def test_a_foreign_host_is_refused(project: Path, host: str) -> None:
    with client_of(Sources((str(project),)), host=host) as rebound:
        assert rebound.get("/api/project").status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_foreign_page_is_refused(client: TestClient, headers: dict[str, str]) -> None:
    assert client.get("/api/project", headers=headers).status_code == 403
    assert client.post("/api/analyses", json={}, headers=headers).status_code == 403


def test_its_own_page_is_let_through(client: TestClient) -> None:
    headers = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client.post("/api/analyses", json={}, headers=headers).status_code == 200
    with_name = {"host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"}
    assert client.get("/api/project", headers=with_name).status_code == 200


@pytest.mark.parametrize("path", ["/", "/explorer.js", "/api/project", "/api/no-such", "/api/file?file=x"])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


# what it answers


def test_every_answer_is_as_the_document_says(client: TestClient) -> None:
    described = document()
    assert client.get("/api/openapi.json").json() == json.loads(json.dumps(described))
    edge = {"source": "cur", "source_column": "cost", "target": "costs", "target_column": "amount"}
    asked: dict[str, dict[str, object]] = {
        "/api/file": {"file": file_of(client)},
        "/api/search": {"text": "total"},
        "/api/places": edge,
        "/api/impact": {"column": "cur.cost"},
    }
    needs_ledger = {"/api/sums", "/api/history", "/api/columns", "/api/amounts", "/api/schema/import"}
    for endpoint in ENDPOINTS:
        if endpoint.path in needs_ledger or endpoint.path == "/api/export":
            continue
        values = asked.get(endpoint.path, {})
        answer = (
            client.get(endpoint.path, params=values)
            if endpoint.method == "GET"
            else client.post(endpoint.path, json={})
        )  # type: ignore[arg-type]
        assert answer.status_code == 200, answer.text
        operation = described["paths"][endpoint.path][endpoint.method.lower()]  # type: ignore[index]
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        Draft202012Validator({**schema, "components": described["components"]}).validate(answer.json())


def test_impact_is_what_the_function_says(client: TestClient, project: Path) -> None:
    told = client.get("/api/impact", params={"drop": "cur.cost"}).json()
    expected = lakebed.impact(drop="cur.cost", folder=project, dialect="duckdb").to_dict()
    assert [(one["column"], one["path"], one["role"]) for one in told["reached"]] == [
        (one["column"], one["path"], one["role"])
        for one in expected["reached"]  # type: ignore[attr-defined]
    ]
    assert told["breaking"] is expected["breaking"] is True


def test_sql_is_analysed_as_it_is_typed(client: TestClient) -> None:
    draft = {"file": file_of(client), "sql": "CREATE VIEW fresh AS SELECT a FROM b"}
    made = client.post("/api/analyses", json={"drafts": [draft]}).json()
    part = client.get("/api/neighbourhood", params={"analysis": made["analysis"]}).json()
    assert {node["id"] for node in part["nodes"]} == {"b", "fresh"}
    assert "fresh" not in client.get("/api/neighbourhood").text
    added = {"name": "b", "columns": [{"name": "a", "dataType": "INT"}]}
    known = client.post("/api/analyses", json={"drafts": [draft], "tables": [added]}).json()
    assert known["infos"] == 0
    exported = client.get("/api/schema/export", params={"analysis": known["analysis"], "view": "imported"}).json()
    again = client.post("/api/analyses", json={"drafts": [draft], "tables": exported["tables"]}).json()
    assert again["infos"] == 0


@pytest.mark.parametrize(("format", "begin"), [("csv", "statement_index,"), ("mermaid", "flowchart LR"), ("json", "{")])
def test_exports_are_files(client: TestClient, format: str, begin: str) -> None:
    answer = client.get("/api/export", params={"format": format})
    assert answer.text.startswith(begin)
    assert answer.headers["content-disposition"].startswith("attachment")


# what it refuses


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/api/neighbourhood?up=-1", "up"),
        ("/api/neighbourhood?limit=100000", "limit"),
        ("/api/neighbourhood?group=colour", "group"),
        ("/api/neighbourhood?unknown=1", "unknown"),
        ("/api/neighbourhood?up=1&up=2", "up"),
        ("/api/edges?sort=size", "sort"),
        ("/api/file", "file"),
        ("/api/impact", "no change"),
        ("/api/impact?drop=nowhere.x", "nowhere"),
        ("/api/impact?rename=cur.cost", "no value"),
    ],
)
def test_what_is_wrong_is_told(client: TestClient, path: str, says: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert says in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/file?file=/etc/passwd",
        "/api/file?file=../../../etc/passwd",
        "/api/project?analysis=0000",
        "/api/history?table=duckdb:/etc/passwd%23t",
        "/api/history?table=parquet:/",
        "/api/columns?table=parquet:/",
        "/api/amounts?table=duckdb:/etc/passwd%23t",
        "/api/sums?table=t&payer=p&report=r&period=2026-01&delivery=d",
        "/api/no-such",
        "/../../etc/passwd",
        "/static/../app.py",
    ],
)
def test_only_what_is_known_is_read(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert answer.json()["error"]["message"]


def test_methods_that_write_are_not_there(client: TestClient) -> None:
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        assert client.request(method, "/api/project").status_code == 405
    assert client.get("/api/analyses").status_code == 405


def test_bodies_are_limited(client: TestClient) -> None:
    large = b"x" * (LARGEST_BODY + 1)
    assert client.post("/api/analyses", content=large).status_code == 413

    def pieces() -> Iterator[bytes]:
        for _ in range(10):
            yield b"x" * (LARGEST_BODY // 8)

    assert client.post("/api/analyses", content=pieces()).status_code == 413
    for body in (b"", b"nothing", b"[]", b'{"drafts": 1}', b'{"no": 1}', b"\xff"):
        assert client.post("/api/analyses", content=body).status_code == 400


def test_an_answer_that_takes_too_long_is_given_up(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = threading.Event()

    def wait(explorer: Explorer, question: Nothing) -> dict[str, object]:
        ends.wait(60)
        return {}

    slow = Endpoint("/api/slow", "Waits.", Nothing, dict, wait)
    monkeypatch.setattr("lakebed.ui.app.ENDPOINTS", (slow,))
    with client_of(Sources((str(project),)), seconds=0.01) as client:
        answer = client.get("/api/slow")
        ends.set()
    assert answer.status_code == 503
    assert "takes longer than" in answer.json()["error"]["message"]


def test_a_defect_tells_no_internals(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(explorer: Explorer, question: Nothing) -> dict[str, object]:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("lakebed.ui.app.ENDPOINTS", (Endpoint("/api/bad", "Fails.", Nothing, dict, fail),))
    with client_of(Sources((str(project),))) as client, caplog.at_level(logging.ERROR):
        answer = client.get("/api/bad")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert "a secret of the inside" in caplog.text


def test_asking_writes_nothing(project: Path) -> None:
    before = everything(project)
    sources = Sources((str(project),), workdir=str(project / "work"))
    with client_of(sources) as client:
        for endpoint in ENDPOINTS:
            if endpoint.method == "GET":
                client.get(endpoint.path)
        client.post("/api/analyses", json={"drafts": [{"file": "../new.sql", "sql": "SELECT 1"}]})
    assert everything(project) == before


def test_without_sql_it_shows_the_ledger(tmp_path: Path) -> None:
    lakebed.sample(tmp_path / "bills", months=1, rows=5, restate=False)
    lakebed.discover(tmp_path / "bills", workdir=tmp_path / "work")
    with client_of(Sources(workdir=str(tmp_path / "work"))) as client:
        assert client.get("/api/welcome").json()["has_sql"] is False
        assert client.get("/api/project").json()["files"] == []
        assert client.get("/api/neighbourhood").json()["nodes"] == []
        [delivery] = client.get("/api/status").json()["deliveries"]
        assert delivery["state"] == "discovered"
