"""`lakebed doctor` finds what is missing and says in plain words how to put it right."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.s3_server import S3Server
from tests.support.spark_cluster import Server

from lakebed.engines.duckdb.extensions import packaged_extension
from lakebed.engines.spark.java import find_java
from lakebed.errors import JavaMissing, LakebedError
from lakebed.health import _clocks
from lakebed.storage import Storage


def doctor(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from lakebed.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "doctor", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def fake_java(folder: Path, release: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'JAVA_VERSION="{release}"\n')
    return folder


def test_a_healthy_machine_passes_quickly_and_nothing_is_made(tmp_path: Path) -> None:
    ran = doctor("--quick", "--json", str(tmp_path), cwd=tmp_path)
    answer = json.loads(ran.stdout)
    assert (ran.returncode, answer["ok"]) == (0, True), ran.stdout
    states = {check["name"]: check["state"] for check in answer["checks"]}
    assert {"Java", "Spark", "work directory", "ledger", "DuckDB", "DuckDB extensions", "Iceberg"} <= set(states)
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_is_named_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ran = doctor(
        "--quick",
        "--workdir",
        str(tmp_path / "file" / "work"),
        cwd=tmp_path,
        LAKEBED_STORAGE_ENDPOINT_URL="http://127.0.0.1:1",
        LAKEBED_WORKDIRR="misspelt",
    )
    assert ran.returncode == 1
    assert "failed  work directory" in ran.stdout
    assert "Choose another with --workdir" in ran.stdout
    assert "failed  S3 endpoint: http://127.0.0.1:1 does not answer" in ran.stdout
    assert "LAKEBED_WORKDIRR" in ran.stdout
    assert "Traceback" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(("release", "major"), [("1.8.0_402", 8), ("25", 25), ("11.0.2", 11)])
def test_without_a_fitting_java_the_message_names_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, major: int
) -> None:
    home = fake_java(tmp_path / "java", release)
    monkeypatch.setattr("lakebed.engines.spark.java._USUAL_FOLDERS", ())
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(JavaMissing) as missing:
        find_java()
    assert f"Java {major} in {home}" in str(missing.value)
    assert "apt-get install openjdk-17-jre-headless" in str(missing.value)


def test_of_several_javas_one_that_fits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = fake_java(tmp_path / "newest", "25.0.1")
    fake_java(tmp_path / "jvm" / "java-8", "1.8.0_402")
    fitting = fake_java(tmp_path / "jvm" / "java-21", "21.0.3")
    monkeypatch.setattr("lakebed.engines.spark.java._USUAL_FOLDERS", (str(tmp_path / "jvm"),))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(newest / "bin"))
    assert (find_java().home, find_java().major) == (fitting, 21)


def test_extensions_come_from_their_wheels() -> None:
    path = packaged_extension("httpfs")
    assert path is not None
    assert path.name == "httpfs.duckdb_extension"
    assert packaged_extension("no_such_extension") is None


@pytest.mark.spark
def test_the_whole_check_starts_spark_and_asks_a_worker(tmp_path: Path) -> None:
    ran = doctor("--json", "--master", "local[1]", cwd=tmp_path, LAKEBED_SPARK_MEMORY="1g")
    checks = {check["name"]: check for check in json.loads(ran.stdout)["checks"]}
    assert checks["Spark"]["state"] == "ok", checks["Spark"]
    assert "on local[1]" in checks["Spark"]["found"]
    assert "Python 3." in checks["workers"]["found"]
    assert ran.stderr == ""


def on_cluster(cluster: Server, *arguments: str, cwd: Path, **environment: str) -> dict[str, dict[str, str]]:
    """The checks by name, of a doctor who looks at the cluster."""
    given = {**cluster.environment, **environment}
    ran = doctor("--json", "--master", cluster.url, *arguments, cwd=cwd, **given)
    return {check["name"]: check for check in json.loads(ran.stdout)["checks"]}


@pytest.mark.spark
@pytest.mark.server
def test_a_cluster_is_asked_what_its_workers_have_and_reach(
    standalone_cluster: Server, pyarrow_only: Path, s3_server: S3Server, s3_bucket: str, tmp_path: Path
) -> None:
    keys = {
        "LAKEBED_STORAGE_ENDPOINT_URL": s3_server.endpoint,
        "LAKEBED_STORAGE_REGION": s3_server.region,
        "LAKEBED_STORAGE_ACCESS_KEY_ID": s3_server.access_key,
        "LAKEBED_STORAGE_SECRET_ACCESS_KEY": s3_server.secret_key,
        "LAKEBED_STAGING_LOCATION": f"{s3_bucket}/staging",
        "PYSPARK_PYTHON": str(pyarrow_only),
    }
    checks = on_cluster(standalone_cluster, s3_bucket, cwd=tmp_path, **keys)
    for name in (
        "Spark",
        "workers",
        "workers' clocks",
        f"workers reach {s3_bucket}/staging",
        f"workers reach {s3_bucket}",
    ):
        assert checks[name]["state"] == "ok", checks[name]
    assert f"pyarrow {pa.__version__}" in checks["workers"]["found"]
    assert list(Storage(s3_server.settings).list(s3_bucket)) == []  # what was tried is gone again
    wrong = on_cluster(standalone_cluster, "s3://no-such-bucket/x", cwd=tmp_path, **keys)
    assert wrong["workers reach s3://no-such-bucket/x"]["state"] == "failed"
    assert wrong["workers"]["state"] == "ok"


@pytest.mark.spark
def test_a_staging_folder_that_only_the_driver_has_is_named_before_a_load_is_tried(
    standalone_cluster: Server, tmp_path: Path
) -> None:
    checks = on_cluster(standalone_cluster, cwd=tmp_path)
    found = checks[f"workers reach {tmp_path / '.lakebed' / 'staging'}"]
    assert found["state"] == "failed"
    assert "have disks of their own" in found["found"]
    assert "staging.location" in found["fix"]
    assert not (tmp_path / ".lakebed").exists()


def test_a_clock_that_is_off_is_named() -> None:
    with pytest.raises(LakebedError, match="900 s away"):
        _clocks(900)
    assert _clocks(0.2) == "agree with this machine's"
