"""Sessions of every kind run our kernels, quietly, on workers that have nothing but pyarrow."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.spark_cluster import Server, run_python

from lakebed import kernels
from lakebed.config import load_settings
from lakebed.engines.spark import daemon
from lakebed.engines.spark.daemon import without_copies
from lakebed.engines.spark.session import Session, driver_memory, is_local_master, open_session, require_shared
from lakebed.engines.spark.shipping import kernels_zip
from lakebed.errors import ConfigError

# A driver program: opens a session as `settings` say, runs a kernel on every worker, prints what it found.
DRIVER = """
import json, sys
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session, require_shared
from lakebed.engines.spark.tasks import run_tasks
from lakebed.errors import ConfigError

kind, file = sys.argv[2], sys.argv[3]
conf = {"spark.executor.memory": "512m"} if kind == "master" else {}

def probe(batches):
    import importlib.util, json, os, sys
    import pyarrow as pa
    import lakebed
    from lakebed.kernels.files import filesystem
    from lakebed.kernels.storage_settings import StorageSettings
    for batch in batches:
        fs, path = filesystem(batch.column(1)[0].as_py(), StorageSettings())
        with fs.open_input_stream(path) as stream:
            text = stream.read().decode()
        found = {
            "text": text,
            "lakebed": lakebed.__file__,
            "python": sys.executable,
            "place": os.getcwd(),
            "has": [name for name in ("duckdb", "pandas", "numpy", "sqlalchemy") if importlib.util.find_spec(name)],
        }
        yield pa.RecordBatch.from_pydict({"found": [json.dumps(found)]})

def importers(number):
    import sys, zipimport
    found = sys.path_importer_cache.values()
    return sorted({one.archive.rpartition("/")[2] for one in found if isinstance(one, zipimport.zipimporter)})

with open_session(load_settings({kind: sys.argv[1], "conf": conf})) as session:
    try:
        require_shared("/tmp/x", session)
        refused = None
    except ConfigError as error:
        refused = str(error)
    tasks = session.spark.range(0, 4, 1, 4).selectExpr("id", f"'{file}' as file")
    found = [json.loads(row) for row in tasks.mapInArrow(probe, "found string").toArrow().column(0).to_pylist()]
    zone = session.spark.conf.get("spark.sql.session.timeZone")
    first, second = (run_tasks(session.spark, importers, 4, doing="look at the importers") for _ in range(2))
    answer = {"local": session.local, "zone": zone, "found": found, "refused": refused}
    print(json.dumps({**answer, "read": first[0], "read_again": second}))
"""


@pytest.fixture
def shared_file(tmp_path: Path) -> Path:
    path = tmp_path / "shared.txt"
    path.write_text("read by a worker")
    return path


@pytest.mark.spark
def test_a_local_session_runs_kernels_with_this_python(spark_local: Session) -> None:
    def probe(batches):  # type: ignore[no-untyped-def]
        import lakebed

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable], "lakebed": [lakebed.__file__]})

    found = spark_local.spark.range(0, 2, 1, 2).mapInArrow(probe, "python string, lakebed string").toArrow()
    assert set(found["python"].to_pylist()) == {sys.executable}
    assert all(".zip/lakebed/__init__.py" in file for file in found["lakebed"].to_pylist())
    assert spark_local.local
    assert spark_local.spark.conf.get("spark.sql.session.timeZone") == "UTC"
    # The zip is for workers: in front of the driver's path it would hide the rest of lakebed from child processes.
    assert not [entry for entry in sys.path if "lakebed-kernels" in entry]


@pytest.mark.spark
def test_local_workers_read_no_archives_of_spark_before_a_task(spark_local: Session) -> None:
    def probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"entry": sys.path})

    found = spark_local.spark.range(0, 1, 1, 1).mapInArrow(probe, "entry string").toArrow()["entry"].to_pylist()
    archives = [Path(entry).name for entry in found if Path(entry).is_file()]
    assert [name for name in archives if not name.startswith("lakebed-kernels-")] == []


def test_the_daemon_is_left_alone_where_lakebed_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    assert daemon.startable()
    monkeypatch.setattr(daemon, "distribution", missing)
    assert not daemon.startable()


def test_archives_stay_where_nothing_else_has_pyspark(tmp_path: Path) -> None:
    package = tmp_path / "site" / "pyspark"
    package.mkdir(parents=True)
    archives = [str(package / "python" / "lib" / "pyspark.zip"), str(package / "jars" / "spark-core.jar")]
    assert without_copies([*archives, "/elsewhere"]) == [*archives, "/elsewhere"]
    (package / "__init__.py").touch()
    (tmp_path / "site" / "py4j.py").touch()
    site = str(tmp_path / "site")
    assert without_copies([*archives, site, "/other/pyspark.zip"]) == [site, "/other/pyspark.zip"]


@pytest.mark.spark
def test_the_callers_session_is_used_and_not_stopped(spark_local: Session) -> None:
    with open_session(load_settings({"shared_folders": ("/mnt/lake",)}), spark=spark_local.spark) as session:
        assert session.spark is spark_local.spark
        assert (session.owned, session.local, session.master) == (False, True, "local[2]")
        require_shared("/anywhere", session)
    with open_session(load_settings({"master": "local[1]"})) as session:
        assert session.owned is False
    assert spark_local.spark.range(3).count() == 3


@pytest.mark.spark
def test_a_terminal_hears_nothing_of_spark(tmp_path: Path) -> None:
    code = """
import sys
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session
sys.stderr.write("before\\n")
with open_session(load_settings({"master": "local[1]", "memory": "1g"})) as session:
    session.spark.range(10).count()
    try:
        session.spark.sql("select cast('x' as int)").collect()
    except Exception as error:
        sys.stdout.write(type(error).__name__)
sys.stderr.write("after\\n")
"""
    log = tmp_path / "logs" / "spark.log"
    environment = {**os.environ, "LAKEBED_SPARK_LOG": str(log)}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    assert (ran.stdout, ran.stderr) == ("NumberFormatException", "before\nafter\n")
    assert "WARN" in log.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.spark
def test_a_session_that_cannot_start_says_what_java_said() -> None:
    code = """
from lakebed.config import load_settings
from lakebed.engines.spark.session import open_session
from lakebed.errors import EngineError
try:
    open_session(load_settings({"memory": "1m"}))
except EngineError as error:
    print(error)
"""
    said = run_python(code)
    assert "Spark did not start on local[*]" in said
    assert "Too small" in said
    assert "lakebed doctor" in said


@pytest.mark.spark
def test_workers_of_a_cluster_need_nothing_but_pyarrow(
    standalone_cluster: Server, shared_file: Path, pyarrow_only: Path
) -> None:
    environment = {"PYSPARK_PYTHON": str(pyarrow_only)}
    answer = json.loads(standalone_cluster.run(DRIVER, "master", str(shared_file), environment=environment))
    assert {found["python"] for found in answer["found"]} == {str(pyarrow_only)}
    assert {found["text"] for found in answer["found"]} == {"read by a worker"}
    assert all("lakebed-kernels-" in found["lakebed"] for found in answer["found"])
    assert {tuple(found["has"]) for found in answer["found"]} == {()}
    assert len({found["place"] for found in answer["found"]}) == 2, "both workers took part"
    assert answer["zone"] == "UTC"
    assert answer["local"] is False
    assert "workers of spark://" in answer["refused"]
    assert "spark.shared_folders" in answer["refused"]
    # Spark has a worker look at what it imports from whenever a task begins.
    assert "pyspark.zip" in answer["read"]
    assert answer["read_again"] == [[], [], [], []]


@pytest.mark.spark
def test_a_spark_connect_server_runs_kernels(spark_connect: Server, shared_file: Path) -> None:
    answer = json.loads(spark_connect.run(DRIVER, "remote", str(shared_file)))
    assert {found["text"] for found in answer["found"]} == {"read by a worker"}
    assert all("lakebed-kernels-" in found["lakebed"] for found in answer["found"])
    assert (answer["zone"], answer["local"], answer["refused"]) == ("UTC", True, None)
    assert answer["read_again"] == [[], [], [], []]


def test_the_zip_is_the_same_every_time_and_holds_only_what_workers_need() -> None:
    import io
    import zipfile

    assert kernels_zip() == kernels_zip()
    names = zipfile.ZipFile(io.BytesIO(kernels_zip())).namelist()
    assert {"lakebed/__init__.py", "lakebed/errors.py", "lakebed/model.py"} == {
        name for name in names if name.count("/") == 1
    }
    assert {name for name in names if name.count("/") != 1} == {
        f"lakebed/kernels/{path.name}" for path in Path(kernels.__path__[0]).glob("*.py")
    }


@pytest.mark.parametrize(
    ("master", "local"),
    [
        *((master, True) for master in ("local", "local[*]", "local[4,2]", "local-cluster[2,1,1024]")),
        *((master, False) for master in ("yarn", "spark://localhost:7077", "k8s://https://host", "localhost")),
    ],
)
def test_local_masters_are_told_from_others(master: str, local: bool) -> None:
    assert is_local_master(master) is local


@pytest.mark.parametrize(
    ("total_gib", "memory"), [(1, "1024m"), (4, "1024m"), (16, "4096m"), (32, "8192m"), (256, "8192m")]
)
def test_the_drivers_memory_is_a_quarter_of_the_machine_within_bounds(total_gib: int, memory: str) -> None:
    assert driver_memory(total_gib * 2**30) == memory


def test_shared_folders_and_object_stores_pass_on_a_cluster() -> None:
    session = Session(None, "yarn", local=False, owned=False, shared_folders=("/mnt/lake",))  # type: ignore[arg-type]
    for uri in ("s3://bucket/x", "gs://bucket/x", "/mnt/lake/x", "file:///mnt/lake/x"):
        require_shared(uri, session)
    for uri in ("/mnt/lakeside", "/tmp/x", "file:///tmp/x"):
        with pytest.raises(ConfigError, match="the workers of yarn have disks of their own"):
            require_shared(uri, session)


def test_a_remote_that_is_no_connect_url_is_refused() -> None:
    with pytest.raises(ConfigError, match="no Spark Connect URL"):
        open_session(load_settings({"remote": "http://host"}))
