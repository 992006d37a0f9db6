"""The load as a Spark job: one task a file, facts back, a user's mistake as a clean exception."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from tests.support import ROOT
from tests.support.spark_cluster import Server

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob, Engine, FileDone, OnBadValue
from lakebed.engines.shared import packs
from lakebed.engines.spark.load import SparkEngine
from lakebed.engines.spark.session import Session
from lakebed.errors import BadValue, EngineError, SourceError, UnplannedColumns
from lakebed.model import Compression, DataFile, Slice, SourceFile, Staging
from lakebed.schema.types import Column, Schema, Text

EXACT = pa.decimal128(38, 18)
TABLE = pa.schema(
    [
        pa.field("id", pa.string(), metadata={"PARQUET:field_id": "1", "lakebed.original": "identity/Id"}),
        pa.field("cost", EXACT, metadata={"PARQUET:field_id": "2"}),
        pa.field("currency", pa.string()),
        pa.field("old", pa.string()),
        pa.field("lakebed_payer", pa.string()),
    ]
)
COLUMNS = Schema.of(
    Column(name, Text(), original=original)
    for original, name in (("identity/Id", "id"), ("lineItem/Cost", "cost"), ("lineItem/Currency", "currency"))
)
HEADER = "identity/Id,lineItem/Cost,lineItem/Currency\n"


def file(folder: Path, number: int, text: str) -> SourceFile:
    path = folder / f"report-{number}.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return SourceFile(str(path), path.name, "csv", "gzip", path.stat().st_size)


def job(folder: Path, files: list[SourceFile], on_bad_value: OnBadValue = "refuse") -> ConvertJob:
    return ConvertJob(
        files=tuple(files),
        columns=COLUMNS,
        constants={"lakebed_payer": "42", "lakebed_period": "2026-10"},
        staging=Staging("one", str(folder / "staging"), TABLE, ("lakebed_period",)),
        partition={"lakebed_period": "2026-10"},
        on_bad_value=on_bad_value,
        currency_column="currency",
    )


@pytest.fixture(params=["spark", "arrow"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "arrow":
        return ArrowEngine()
    session: Session = request.getfixturevalue("spark_local")
    return SparkEngine(session.spark)


@pytest.mark.spark
def test_every_file_becomes_parquet_and_facts(engine: Engine, tmp_path: Path) -> None:
    files = [
        file(tmp_path, 1, HEADER + "".join(f"{n},{n}.5E-7,USD\n" for n in range(1000))),
        file(tmp_path, 2, "lineItem/Currency,lineItem/Cost,identity/Id\nEUR,1.000000000000000001,007\n"),
        file(tmp_path, 3, HEADER),
        file(tmp_path, 4, "identity/Id,lineItem/Currency\nx,USD\n"),
    ]
    told: list[FileDone] = []
    result = engine.convert(job(tmp_path, files), told.append)
    assert result.source.rows == 1002
    dollars = sum(Decimal(f"{n}.5E-7") for n in range(1000))
    assert result.source.sums == {"cost": dollars + Decimal("1.000000000000000001")}
    assert result.source.by_currency["USD"] == {"cost": dollars}
    assert result.source.by_currency["EUR"] == {"cost": Decimal("1.000000000000000001")}
    assert result.warnings == ("report-4.csv.gz: 1 columns are missing and loaded as NULL: lineItem/Cost",)
    assert {(done.file.key, done.rows) for done in told} == {
        ("report-1.csv.gz", 1000),
        ("report-2.csv.gz", 1),
        ("report-3.csv.gz", 0),
        ("report-4.csv.gz", 1),
    }
    assert [file.rows for file in result.files] == [1000, 1, 1]
    assert all(file.path.startswith("lakebed_period=2026-10/part-") for file in result.files)
    assert all(file.partition == {"lakebed_period": "2026-10"} for file in result.files)
    assert result.files[1].bounds["id"].minimum == "007"
    paths = [tmp_path / "staging" / file.path for file in result.files]
    for path in paths:
        assert pq.read_schema(path).equals(TABLE, check_metadata=True)
    table = pads.dataset([str(path) for path in paths], schema=TABLE).to_table()
    assert set(table.column("lakebed_payer").to_pylist()) == {"42"}
    assert set(table.column("old").to_pylist()) == {None}


@pytest.mark.spark
def test_a_bad_value_is_one_clean_exception(engine: Engine, tmp_path: Path) -> None:
    good = file(tmp_path, 1, HEADER + "a,1,USD\n")
    bad = file(tmp_path, 2, HEADER + "a,1,USD\nb,oops,USD\n")
    with pytest.raises(BadValue) as refused:
        engine.convert(job(tmp_path, [good, bad]))
    assert "report-2.csv.gz, line 3, column lineItem/Cost: 'oops'" in str(refused.value)
    assert refused.value.__cause__ is None
    result = engine.convert(job(tmp_path, [good, bad], "quarantine"))
    assert (result.source.rows, result.rejected_rows) == (2, 1)
    assert [(value.file, value.line, value.value) for value in result.rejected] == [("report-2.csv.gz", 3, "oops")]
    assert [side.rows for side in result.rejected_files] == [1]
    assert (tmp_path / "staging" / result.rejected_files[0].path).is_file()


@pytest.mark.spark
def test_unplanned_columns_of_all_files_come_at_once(engine: Engine, tmp_path: Path) -> None:
    files = [
        file(tmp_path, 1, HEADER + "a,1,USD\n"),
        file(tmp_path, 2, HEADER.strip() + ",resourceTags/user:a\na,1,USD,x\n"),
        file(tmp_path, 3, HEADER.strip() + ",resourceTags/user:a,resourceTags/user:b\na,1,USD,x,y\n"),
    ]
    with pytest.raises(UnplannedColumns) as refused:
        engine.convert(job(tmp_path, files))
    assert refused.value.file == "report-2.csv.gz"
    assert refused.value.names == ("resourceTags/user:a", "resourceTags/user:b")


@pytest.mark.spark
def test_a_truncated_file_is_named(engine: Engine, tmp_path: Path) -> None:
    cut = file(tmp_path, 1, HEADER + "a,1,USD\n" * 500)
    Path(cut.uri).write_bytes(Path(cut.uri).read_bytes()[:-20])
    with pytest.raises(SourceError, match=r"report-1\.csv\.gz: the gzip data is cut short"):
        engine.convert(job(tmp_path, [cut]))


@pytest.mark.spark
def test_no_files_is_no_job(engine: Engine, tmp_path: Path) -> None:
    result = engine.convert(job(tmp_path, []))
    assert (result.files, result.source.rows) == ((), 0)


@pytest.mark.spark
def test_rewriting_keeps_everything_but_the_slice(engine: Engine, tmp_path: Path) -> None:
    source = file(tmp_path, 1, HEADER + "a,1,USD\nb,2,USD\n")
    old = engine.convert(job(tmp_path, [source]))
    wider = TABLE.append(pa.field("new", pa.string()))
    staging = Staging("two", str(tmp_path / "second"), wider, ("lakebed_period",))
    files = [
        DataFile(str(tmp_path / "staging" / file.path), file.rows, file.size_bytes, file.partition)
        for file in old.files
    ]
    (kept,) = engine.rewrite(files, staging)
    assert kept.path.startswith("lakebed_period=2026-10/")
    rows = pq.ParquetFile(tmp_path / "second" / kept.path).read()
    assert rows.schema.names == wider.names
    assert rows.column("new").to_pylist() == [None, None]
    assert engine.rewrite(files, staging, without=Slice("42", "", "2026-10"))[0].rows == 2


@pytest.mark.spark
def test_what_is_nobodys_mistake_is_an_engine_error(spark_local: Session, tmp_path: Path) -> None:
    blocked = tmp_path / "staging"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(EngineError, match="the Spark job failed: "):
        SparkEngine(spark_local.spark).convert(job(tmp_path, [file(tmp_path, 1, HEADER + "a,1,USD\n")]))


# A driver program that converts one file and prints what came back; it runs as a client of a Connect server.
CLIENT = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from tests.engines.spark.test_load import HEADER, file, job
from lakebed.config import load_settings
from lakebed.engines.spark.load import SparkEngine
from lakebed.engines.spark.session import open_session
from lakebed.errors import BadValue

folder = Path(sys.argv[2])
told = []
with open_session(load_settings({"remote": sys.argv[1]})) as session:
    engine = SparkEngine(session.spark)
    good = file(folder, 1, HEADER + "a,4.0E-7,USD\\n")
    result = engine.convert(job(folder, [good]), told.append)
    try:
        engine.convert(job(folder, [good, file(folder, 2, HEADER + "a,oops,USD\\n")]))
    except BadValue as error:
        refused = str(error)
print(json.dumps({"sum": str(result.source.sums["cost"]), "files": [f.path for f in result.files],
                  "told": [done.rows for done in told], "refused": refused}))
"""


@pytest.mark.spark
def test_the_same_job_runs_on_spark_connect(spark_connect: Server, tmp_path: Path) -> None:
    answer = json.loads(spark_connect.run(CLIENT, str(tmp_path), str(ROOT)))
    assert Decimal(answer["sum"]) == Decimal("4.0E-7")
    assert (tmp_path / "staging" / answer["files"][0]).is_file()
    assert answer["told"] == [1]
    assert "report-2.csv.gz, line 2, column lineItem/Cost: 'oops'" in answer["refused"]


@pytest.mark.spark
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_large_file_is_read_by_several_tasks(
    tmp_path: Path, engine: Engine, compression: Compression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain, or packed in members that end anywhere; a quoted newline is in every record.

    Blocks of eight megabytes are what parts are made of.
    """
    monkeypatch.setattr(packs, "PART_BYTES", 1 << 20)
    path = tmp_path / "large.csv"
    count = 300_000
    with path.open("w", newline="") as file:
        file.write(HEADER)
        for number in range(count):
            file.write(f'"row\n{number}, with a long and quoted text that fills the file",0.{number:06d},USD\n')
    if compression == "gzip":
        text = path.read_bytes()
        path.write_bytes(b"".join(gzip.compress(text[at : at + 999_999], 1) for at in range(0, len(text), 999_999)))
    large = SourceFile(str(path), path.name, "csv", compression, path.stat().st_size)
    converted = engine.convert(job(tmp_path, [large]))
    assert len(converted.files) > 1
    assert converted.source.rows == count == sum(one.rows for one in converted.files)
    assert converted.source.sums["cost"] == sum((Decimal(f"0.{number:06d}") for number in range(count)), Decimal(0))
    files = [str(tmp_path / "staging" / one.path) for one in converted.files]
    ids = pads.dataset(files).to_table(["id"]).column("id").unique()
    assert len(ids) == count
