"""The wheel in an empty environment: with no extra and with each, every command works or names what to install."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.installed import Environment, build_wheel, find_python, install

pytestmark = pytest.mark.processes

# What each extra brings along.
BRINGS = {
    "": frozenset[str](),
    "spark": frozenset({"spark"}),
    "connect": frozenset({"spark", "connect"}),
    "iceberg": frozenset({"iceberg"}),
    "duckdb-extensions": frozenset({"duckdb-extensions"}),
    "postgres": frozenset({"postgres"}),
    "openlineage": frozenset({"openlineage"}),
    "all": frozenset({"spark", "connect", "iceberg", "duckdb-extensions", "postgres", "openlineage"}),
}
OPTIONAL = frozenset({"iceberg", "duckdb-extensions"})


@dataclass(frozen=True)
class Command:
    """What is run, what it cannot do without, and what it leaves out where it is missing."""

    line: str
    needs: frozenset[str] = frozenset()
    leaves_out: frozenset[str] = frozenset()
    code: int = 0
    ledger: str | None = None


SPARK = frozenset({"spark"})
COMMANDS = (
    Command("--version"),
    Command("--help"),
    *(Command(f"{name} --help") for name in ("demo", "run", "lineage", "merge", "doctor")),
    Command("doctor", leaves_out=SPARK | OPTIONAL),
    Command("doctor --spark-conf", needs=frozenset({"iceberg"})),
    Command("lineage query.sql"),
    Command("lineage query.sql --schema parquet:rows.parquet --format html -o lineage.html"),
    Command("lineage query.sql --format duckdb -o lineage.duckdb"),
    Command("sample bills --months 1 --rows 100 --columns 70"),
    Command("discover bills"),
    Command("plan bills --target duckdb:costs.duckdb"),
    Command("plan bills --target iceberg:billing", needs=frozenset({"iceberg"})),
    Command("stage bills"),
    Command("status"),
    # Nothing listens there: with the driver it is the connection that fails.
    Command("status", needs=frozenset({"postgres"}), code=1, ledger="postgresql+psycopg://nobody@127.0.0.1:1/none"),
    *(
        Command(f"merge rows.parquet {target} --keys id --engine {engine}", needs=frozenset({*on_target, *on_engine}))
        for target, on_target in (("folder", ()), ("duckdb:m.duckdb#t", ()), ("iceberg:ns.t", ("iceberg",)))
        for engine, on_engine in (("duckdb", ()), ("arrow", ()), ("spark", ("spark",)))
    ),
    Command("evolve parquet:folder --schema more.json"),
    Command("history parquet:folder"),
    Command("sweep"),
    Command("load --target duckdb:costs.duckdb --master local[1]", needs=SPARK),
    Command("run bills --target duckdb:costs.duckdb --master local[1]", needs=SPARK),
    Command("run bills --target iceberg:billing --master local[1]", needs=SPARK | {"iceberg"}),
    Command("run bills --target parquet:connect --remote local[1]", needs=SPARK | {"connect"}),
    Command("demo --rows 100", needs=SPARK, leaves_out=OPTIONAL),
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What the commands work on."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "query.sql").write_text("CREATE TABLE u AS SELECT id, upper(name) AS name FROM rows", encoding="utf-8")
    (work / "more.json").write_text('{"id": "bigint", "note": "string"}', encoding="utf-8")
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), work / "rows.parquet")
    return work


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Callable[..., Environment]:
    return lambda extras="", **how: install(wheel, tmp_path / "environment", extras=extras, **how)


def require_every_command(environment: Environment, have: frozenset[str], folder: Path) -> None:
    """Runs every command: it works, or it names exactly the extras that it lacks."""
    for command in COMMANDS:
        variables = {} if command.ledger is None else {"LAKEBED_LEDGER": command.ledger}
        ran = environment.lakebed(*command.line.split(), cwd=folder, **variables)
        assert "Traceback" not in ran.output, f"{command.line}\n{ran.output}"
        lacks = command.needs - have
        if lacks:
            assert ran.code in (1, 2), f"{command.line}\n{ran.output}"
            # One at a time is enough: who follows it is told the next.
            assert ran.extras, f"{command.line}\n{ran.output}"
            assert ran.extras <= lacks, f"{command.line}\n{ran.output}"
        else:
            assert ran.code == command.code, f"{command.line}\n{ran.output}"
            assert ran.extras == command.leaves_out - have, f"{command.line}\n{ran.output}"


def test_without_an_extra(installed: Callable[..., Environment], folder: Path) -> None:
    environment = installed()
    [packages] = environment.folder.glob("lib/python*/site-packages")
    assert [name for name in ("pyspark", "pandas", "numpy", "pyiceberg", "boto3") if (packages / name).exists()] == []
    require_every_command(environment, frozenset(), folder)


def test_with_the_extras_that_need_no_java(installed: Callable[..., Environment], folder: Path) -> None:
    """Together, so that CI has them too; each on its own is in `make test-full`."""
    small = [name for name in BRINGS if name and "spark" not in BRINGS[name]]
    require_every_command(installed(",".join(small)), frozenset(small), folder)


@pytest.mark.full
@pytest.mark.parametrize("extra", [name for name in BRINGS if name])
def test_with_an_extra(extra: str, installed: Callable[..., Environment], folder: Path) -> None:
    require_every_command(installed(extra), BRINGS[extra], folder)


@pytest.mark.full
@pytest.mark.parametrize("extra", ["", "all"])
@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_on_a_newer_python(version: str, extra: str, installed: Callable[..., Environment], folder: Path) -> None:
    require_every_command(installed(extra, python=find_python(version)), BRINGS[extra], folder)
