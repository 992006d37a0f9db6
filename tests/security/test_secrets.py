"""Planted secrets are looked for in everything that Lakebed says, writes down or starts."""

import json
import logging
import os
import pickle
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.s3_server import S3Server
from typer.testing import CliRunner, Result

import lakebed
from lakebed.cli import build
from lakebed.config import load_settings
from lakebed.errors import ConfigError, LakebedError, StateError, StorageError, hide_secrets, redacted
from lakebed.lineage import Script
from lakebed.lineage.export import FORMATS, export
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.samples import SampleSpec, make_sample
from lakebed.source.discover import find_deliveries
from lakebed.source.filters import DiscoverFilters
from lakebed.source.stage import stage_files
from lakebed.state.ledger import Ledger
from lakebed.storage import Storage

PLANTED = {
    "access_key": "PLANTEDAKIAQ7XHOSTILE",
    "secret_key": "PLANTEDsecret/key+7x",
    "session": "PLANTEDsession//token==",
    "ledger": "PLANTEDledgerPassword",
    "token": "PLANTEDcatalogToken",
    "endpoint": "PLANTEDendpointPassword",
    "spark": "PLANTEDsparkKey",
}
FILTERS = DiscoverFilters(report="costs", period="2026-10")
SPEC = SampleSpec(months=1, rows=10, columns=63, files=1, restate=False)


def require_clean(text: str) -> None:
    assert "PLANTED" not in text, text[max(0, text.index("PLANTED") - 300) :][:600]


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(build(list(arguments)), list(arguments), env=environment)


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Path:
    """A folder with bills whose settings hold every kind of secret."""
    monkeypatch.chdir(tmp_path)
    make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
    (tmp_path / "lakebed.toml").write_text(
        f"""
[storage]
endpoint_url = "http://user:{PLANTED["endpoint"]}@127.0.0.1:9"
access_key_id = "{PLANTED["access_key"]}"
secret_access_key = "{PLANTED["secret_key"]}"
session_token = "{PLANTED["session"]}"
[catalog.prod]
type = "rest"
uri = "http://user:{PLANTED["endpoint"]}@127.0.0.1:9"
token = "{PLANTED["token"]}"
[spark.conf]
"spark.hadoop.fs.s3a.secret.key" = "{PLANTED["spark"]}"
"""
    )
    caplog.set_level(logging.DEBUG)
    return tmp_path


COMMANDS = (
    ("discover", "bills"),
    ("plan", "bills", "--target", "parquet:costs"),
    ("plan", "bills", "--target", "iceberg:prod:billing.costs"),
    ("plan", "bills", "--target", f"s3://{PLANTED['access_key']}:{PLANTED['secret_key']}@bucket/x"),
    ("plan", f"s3://{PLANTED['access_key']}:x@bucket/bills", "--target", "parquet:costs"),
    ("merge", "rows.parquet", "costs", "--keys", "id"),
    ("merge", "rows.parquet", "iceberg:prod:billing.costs", "--keys", "id"),
    ("merge", f"s3://me:{PLANTED['secret_key']}@bucket/rows.parquet", "costs", "--keys", "id"),
    ("history", "costs"),
    ("history", "iceberg:prod:billing.costs"),
    ("evolve", "iceberg:prod:billing.costs", "--schema", "id int"),
    ("status",),
    ("sweep",),
    ("doctor", "--spark-conf"),
    ("reconcile", "--target", "iceberg:prod:billing.costs"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:40].replace("/", ":"))
@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_says_a_secret(
    planted: Path, command: tuple[str, ...], as_json: bool, caplog: pytest.LogCaptureFixture
) -> None:
    pq.write_table(pa.table({"id": [1]}), planted / "rows.parquet")
    result = run(*command, *(["--json"] if as_json else []))
    require_clean(result.stdout)
    require_clean(result.stderr)
    require_clean(caplog.text)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    for path in (planted / ".lakebed").rglob("*"):
        if path.is_file():
            require_clean(path.read_bytes().decode("latin-1"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql//user:{}@host/db",
        "postgresql+psycopg://user:{}@host:port/db",
        "{}",
        "sqlite://user:{}@/",
        "mssql://user:{}@host/db",
        "postgresql+psycopg://user:{}@127.0.0.1:9/db",
        "postgresql+psycopg://user:p%40{}@127.0.0.1:9/db",
    ],
)
def test_no_ledger_url_is_repeated_with_its_password(planted: Path, url: str, caplog: pytest.LogCaptureFixture) -> None:
    result = run("status", LAKEBED_LEDGER=url.format(PLANTED["ledger"]))
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    for said in (result.stdout, result.stderr, caplog.text):
        require_clean(said)
        assert "user:" not in said


@pytest.mark.parametrize(
    "setting",
    [
        f'ledger = ["{PLANTED["ledger"]}"]',
        f'[catalog]\nprod = "{PLANTED["token"]}"',
        f'[catalog.prod]\ntoken = ["{PLANTED["token"]}"]',
        f'[storage]\nsecret_access_key = ["{PLANTED["secret_key"]}"]',
        f'[spark.conf]\n"spark.secret" = ["{PLANTED["spark"]}"]',
    ],
)
def test_a_wrong_setting_is_named_and_its_secret_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lakebed.toml").write_text(setting)
    with pytest.raises(ConfigError, match="is wrong") as refused:
        load_settings()
    require_clean(str(refused.value) + json.dumps(refused.value.to_dict()))


def test_errors_mask_what_other_libraries_say() -> None:
    hide_secrets([PLANTED["token"], "short", None])
    for text in (
        f"server said {PLANTED['token']}!",
        "https://me:PLANTED@host/x",
        "https://host/x?X-Amz-Signature=PLANTED&X-Amz-Credential=PLANTED/2026",
        "sc://host:15002/;token=PLANTED",
        "failed with password=PLANTED",
        "s3.secret-access-key=PLANTED, x=1",
    ):
        error = StorageError(text, uri=text)
        again = pickle.loads(pickle.dumps(error))
        for said in (str(error), str(again), json.dumps(error.to_dict()), repr(error)):
            require_clean(said)
    assert redacted("a short message about line_item_cost=5 in s3://bucket/a@b") == (
        "a short message about line_item_cost=5 in s3://bucket/a@b"
    )


def test_a_run_against_a_store_that_refuses_says_no_secret(
    planted: Path, s3_server: S3Server, s3_bucket: str, caplog: pytest.LogCaptureFixture
) -> None:
    (planted / "lakebed.toml").write_text(
        f'[storage]\nendpoint_url = "{s3_server.settings.endpoint_url}"\naccess_key_id = "{PLANTED["access_key"]}"\n'
        f'secret_access_key = "{PLANTED["secret_key"]}"\nsession_token = "{PLANTED["session"]}"\n'
    )
    for command in (("discover", f"{s3_bucket}/x"), ("history", f"parquet:{s3_bucket}/x/costs")):
        result = run(*command, "--json")
        require_clean(result.stdout + result.stderr + caplog.text)


def test_no_export_holds_a_secret(planted: Path) -> None:
    load_settings()
    scripts = [Script("CREATE TABLE a AS SELECT * FROM b", "a.sql")]
    result = lakebed.analyze(scripts)
    for kind in FORMATS:
        require_clean(export(result, kind, ScriptTexts(scripts)))


STARTS_SPARK = """
import os, sys
from pathlib import Path
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session

with open_session(load_settings({"master": "local[1]", "memory": "1g"})) as session:
    assert session.spark.conf.get("spark.hadoop.fs.s3a.secret.key") == os.environ["WANTED"]
    assert session.spark.conf.get("spark.odd.token") == "a b=c:d\\\\ü€😀"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                print(entry.joinpath("cmdline").read_bytes().replace(b"\\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
"""


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="only Linux has /proc")
def test_no_process_is_started_with_a_secret_in_its_command_line(planted: Path) -> None:
    with (planted / "lakebed.toml").open("a") as file:
        file.write('"spark.odd.token" = "a b=c:d\\\\ü€😀"\n')
    done = subprocess.run(
        [sys.executable, "-c", STARTS_SPARK],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "WANTED": PLANTED["spark"], "TMPDIR": str(planted)},
    )
    assert done.returncode == 0, done.stderr
    assert "org.apache.spark.deploy.SparkSubmit" in done.stdout
    require_clean(done.stdout + done.stderr)
    assert not list(planted.glob("lakebed-spark-*"))


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_ledger_work_folder_and_staging_are_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    try:
        make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
        lakebed.discover("bills")
        [delivery] = find_deliveries("bills", Storage()).deliveries
        stage_files(delivery, Storage(), str(tmp_path / ".lakebed" / "staging"))
        target = lakebed.merge(pa.table({"id": [1]}), "parquet:lake/costs", keys="id")
        with Ledger.open(tmp_path / "other" / "ledger.db"):
            pass
    finally:
        os.umask(before)
    assert target.inserted == 1
    assert rights(tmp_path / ".lakebed") == 0o700
    assert rights(tmp_path / ".lakebed" / "ledger.db") == 0o600
    assert rights(tmp_path / ".lakebed" / "staging") == 0o700
    assert rights(tmp_path / "other") == 0o700
    # What is committed is as readable as the user's umask says.
    assert {rights(path) for path in (tmp_path / "lake" / "costs").iterdir()} == {0o644}


def test_folders_and_ledgers_that_are_there_keep_their_rights(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir(mode=0o750)
    folder.chmod(0o750)
    with sqlite3.connect(folder / "ledger.db") as connection:
        connection.execute("SELECT 1")
    (folder / "ledger.db").touch()
    (folder / "ledger.db").chmod(0o640)
    with Ledger.open(folder / "ledger.db") as ledger:
        assert ledger.loads() == ()
    assert (rights(folder), rights(folder / "ledger.db")) == (0o750, 0o640)


def test_a_ledger_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="cannot be made"), Ledger.open(tmp_path / "file" / "ledger.db"):
        pass


def test_a_link_in_a_source_that_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "etc"
    outside.mkdir()
    (outside / "shadow.csv").write_text("root:PLANTED\nnext:PLANTED,2\n")
    source = tmp_path / "bills"
    source.mkdir()
    (source / "ours.csv").write_text("a,b\n1,2\n")
    (source / "again.csv").symlink_to(source / "ours.csv")
    linked = tmp_path / "linked"
    linked.symlink_to(source)
    found = find_deliveries(str(linked), Storage(), FILTERS)
    assert {file.key for delivery in found.deliveries for file in delivery.files} == {"ours.csv", "again.csv"}
    for link, to in (("x.csv", outside / "shadow.csv"), ("folder", outside), ("gone.csv", tmp_path / "nowhere")):
        (source / link).symlink_to(to)
        with pytest.raises(LakebedError, match=f"{link} is a link that leads out of the source") as refused:
            find_deliveries(str(linked), Storage(), FILTERS)
        require_clean(str(refused.value))
        (source / link).unlink()
