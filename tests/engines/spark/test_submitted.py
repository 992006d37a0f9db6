"""A program that was submitted keeps what it was submitted with; so does one on a machine whose Spark is set up."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.spark_cluster import run_python

import lakebed
from lakebed.config import load_settings
from lakebed.engines.spark.java import find_java
from lakebed.engines.spark.session import open_session
from lakebed.engines.spark.submitted import PROGRAM, given_conf
from lakebed.errors import ConfigError

DESCRIBE = """
import json, sys
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session
with open_session(load_settings(json.loads(sys.argv[1]))) as session:
    conf = session.spark.conf
    names = ("spark.master", "spark.driver.memory", "spark.app.name", "spark.sql.shuffle.partitions")
    found = {name: conf.get(name, None) for name in names}
    print(json.dumps({"local": session.local, "owned": session.owned, **found}))
"""


def submit(*arguments: str, cwd: Path) -> str:
    command = [str(Path(sys.executable).parent / "spark-submit"), "--conf", "spark.ui.enabled=false", *arguments]
    environment = {
        **os.environ,
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    ran = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def describe(environment: Mapping[str, str], **settings: object) -> dict[str, object]:
    answer: dict[str, object] = json.loads(run_python(DESCRIBE, json.dumps(settings), environment=environment))
    return answer


@pytest.mark.spark
def test_what_spark_submit_was_told_counts(tmp_path: Path) -> None:
    (tmp_path / "describe.py").write_text(DESCRIBE)
    told = ["--master", "local[1]", "--driver-memory", "700m", "--name", "nightly"]
    found = json.loads(submit(*told, "describe.py", "{}", cwd=tmp_path))
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[1]", "700m")
    assert (found["spark.app.name"], found["spark.sql.shuffle.partitions"]) == ("nightly", None)
    assert (found["local"], found["owned"]) == (True, True)


@pytest.mark.spark
def test_a_whole_run_is_submitted(tmp_path: Path) -> None:
    lakebed.sample(tmp_path / "bills", months=1, rows=20, columns=63, restate=False)
    # spark-submit puts stderr into stdout.
    quietly = ["run", "bills", "--target", "parquet:lake", "--json", "--quiet"]
    ran = submit("--master", "local[1]", str(PROGRAM), *quietly, cwd=tmp_path)
    assert [one["state"] for one in json.loads(ran)["deliveries"]] == ["loaded"]


@pytest.mark.spark
def test_submit_arguments_of_the_environment_count() -> None:
    found = describe({"PYSPARK_SUBMIT_ARGS": "--master local[1] --driver-memory 700m pyspark-shell"})
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[1]", "700m")


@pytest.mark.spark
def test_what_the_settings_say_wins_over_the_machines_spark(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master local[1]\nspark.sql.shuffle.partitions=7\n")
    environment = {"SPARK_CONF_DIR": str(tmp_path), "SPARK_DRIVER_MEMORY": "700m"}
    found = describe(environment)
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[1]", "700m")
    assert found["spark.sql.shuffle.partitions"] == "7"
    found = describe(environment, master="local[2]", memory="800m")
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[2]", "800m")


def test_the_defaults_file_is_read_as_spark_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["# a comment", "", "spark.master   yarn", "spark.a=b c", "spark.b = x=y", "spark.c: z", "spark.alone"]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(lines))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("MASTER", "spark://elsewhere:7077")
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", " ")
    assert given_conf() == {"spark.master": "yarn", "spark.a": "b c", "spark.b": "x=y", "spark.c": "z"}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "none"))
    assert given_conf() == {"spark.master": "spark://elsewhere:7077"}


def test_memory_that_cannot_be_given_any_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.engines.spark.session._active", lambda: None)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(ConfigError, match="Give --driver-memory to spark-submit"):
        open_session(load_settings({"memory": "2g"}))


def test_a_remote_of_the_environment_counts_where_nothing_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.engines.spark.session._active", lambda: None)
    monkeypatch.setenv("SPARK_REMOTE", "http://host")
    with pytest.raises(ConfigError, match="'http://host' is no Spark Connect URL"):
        open_session(load_settings({}))


def test_the_program_runs_as_a_module_and_as_a_file(tmp_path: Path) -> None:
    for command in (["-m", "lakebed"], [str(PROGRAM)]):
        ran = subprocess.run(
            [sys.executable, *command, "--version"], capture_output=True, text=True, cwd=tmp_path, check=True
        )
        assert ran.stdout == f"lakebed {lakebed.__version__}\n"
