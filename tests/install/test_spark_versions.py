"""The Sparks and Pythons that the docs say work, each as a stranger installs it; older ones are refused by name."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.installed import ROOT, Environment, build_wheel, find_python, install

pytestmark = [pytest.mark.processes, pytest.mark.spark, pytest.mark.full]

# The newest of each minor version, as docs/spark.md lists them.
SPARKS = ("4.0.5", "4.1.4", "4.2.1", "4.3.0")
TRIED = [*((spark, "3.11") for spark in SPARKS), *((SPARKS[-1], python) for python in ("3.12", "3.13"))]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Callable[[str, str], Environment]:
    def at(spark: str, python: str) -> Environment:
        extras = "connect,iceberg" if spark.startswith("4") else "iceberg"
        # Without its extra, which would refuse the version already when it is installed.
        pandas = () if spark.startswith("4") else ("pandas==2.3.3",)
        return install(
            wheel,
            tmp_path / "environment",
            extras=extras,
            python=find_python(python),
            instead=(f"pyspark=={spark}", *pandas),
        )

    return at


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), work / "rows.parquet")
    return work


@pytest.mark.parametrize(("spark", "python"), TRIED)
def test_it_works_classic_and_with_connect(
    spark: str, python: str, installed: Callable[[str, str], Environment], folder: Path
) -> None:
    environment = installed(spark, python)

    def run(line: str) -> dict[str, object]:
        ran = environment.lakebed(*line.split(), "--json", cwd=folder)
        assert ran.code == 0, f"{line}\n{ran.output}"
        answer: dict[str, object] = json.loads(ran.output[ran.output.index("{") :])
        return answer

    run("sample bills --months 2 --rows 60 --columns 70")
    rows = [
        run("run bills --target iceberg:billing --master local[1]")["rows"],
        run("run bills --target duckdb:costs.duckdb --remote local[1]")["rows"],
    ]
    assert rows[0] == rows[1]
    assert run("merge rows.parquet iceberg:ns.t --keys id --engine spark --master local[1]")["inserted"] == 2
    assert run("write rows.parquet parquet:t --remote local[1]")["total"] == 2


def test_an_older_one_is_refused_by_name(installed: Callable[[str, str], Environment], folder: Path) -> None:
    environment = installed("3.5.9", "3.11")
    environment.lakebed("sample", "bills", "--months", "1", "--rows", "10", "--columns", "70", cwd=folder)
    for line in ("run bills --target duckdb:costs.duckdb", "merge rows.parquet folder --keys id --engine spark"):
        ran = environment.lakebed(*line.split(), cwd=folder)
        assert ran.code != 0
        assert "needs pyspark 4.0 or newer, and 3.5.9 is installed" in ran.output, ran.output
        assert "Traceback" not in ran.output
    assert environment.lakebed(*["merge", "rows.parquet", "folder", "--keys", "id"], cwd=folder).code == 0
    assert not (folder / "costs.duckdb").exists()


def test_the_docs_list_what_is_tried() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| (4\.\d+\.\d+) \| (3\.\d+(?:, 3\.\d+)*) \|", page, re.MULTILINE)
    assert {(spark, python) for spark, pythons in listed for python in pythons.split(", ")} == set(TRIED)
