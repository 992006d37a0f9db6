"""`lakebed.compact`: few files of many, the same rows, one commit; on every engine, into every target made of files."""

import json
import logging
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.sorting import NullOrder
from pyiceberg.transforms import IdentityTransform
from typer.testing import CliRunner

import lakebed
from lakebed.cli import build
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import CompactJob
from lakebed.engines.spark.session import Session
from lakebed.errors import ConfigError, EngineError, NotFound
from lakebed.model import Compacted, Contents
from lakebed.table.compact import parse_size
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.workspace import Workspace

NAMES = ["filename", "Cost", "tag"]


def rows_of(number: int) -> pa.Table:
    return pa.table(
        {
            "filename": [f"{number}-{row}" for row in range(10)],
            "Cost": pa.array([Decimal(f"{number}.{row}00000000000000001") for row in range(10)], pa.decimal128(38, 18)),
            "tag": pa.array([{"k": row} if row % 3 else None for row in range(10)]),
            "n": pa.array([None if row == 4 else 9 - row for row in range(10)], pa.int32()),
        }
    )


def folder_of(path: Path, files: int = 6) -> Path:
    path.mkdir(parents=True)
    for number in range(files):
        pq.write_table(rows_of(number), path / f"{number}.parquet", compression="snappy")
    return path


def as_set(table: pa.Table) -> list[str]:
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in table.to_pylist())


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "w"


def read(address: str, workdir: Path) -> pa.Table:
    found = lakebed.read(address, workdir=workdir)
    return found if isinstance(found, pa.Table) else found.to_table()


def iceberg_of(workdir: Path, files: int = 6) -> str:
    address = "iceberg:billing.costs"
    for number in range(files):
        lakebed.merge(rows_of(number), address, keys="filename", engine="arrow", workdir=workdir)
    return address


def test_small_files_become_one_and_every_row_stays(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t")
    before = as_set(pq.read_table(folder))
    done = lakebed.compact(str(folder), workdir=workdir)
    assert (done.files_before, done.files_after, done.files_rewritten, done.files_written) == (6, 1, 6, 1)
    assert done.rows == 60
    (file,) = folder.glob("*.parquet")
    assert done.bytes_after == file.stat().st_size
    assert as_set(pq.read_table(folder)) == before
    metadata = pq.read_metadata(file)
    assert metadata.num_row_groups == 1
    assert metadata.row_group(0).column(0).compression == "SNAPPY"


def test_an_iceberg_table_is_compacted_in_one_snapshot(workdir: Path) -> None:
    address = iceberg_of(workdir)
    before = as_set(read(address, workdir))
    done = lakebed.compact(address, workdir=workdir)
    assert (done.files_before, done.files_after) == (6, 1)
    assert as_set(read(address, workdir)) == before
    last = lakebed.history(address, workdir=workdir).snapshots[-1]
    assert len(lakebed.history(address, workdir=workdir).snapshots) == 7
    assert last.properties["operation"] == "compact"
    assert (last.added_rows, last.removed_rows, last.rows) == (60, 60, 60)
    assert (last.properties["compact.files-before"], last.properties["compact.files-after"]) == ("6", "1")


def test_a_folder_remembers_its_compaction(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t")
    lakebed.compact(str(folder), workdir=workdir)
    (entry,) = lakebed.history(str(folder), workdir=workdir).changes
    assert (entry.change.kind, entry.change.type_before, entry.change.type_after) == ("compacted", "6", "1")
    shown = CliRunner().invoke(build(["history"]), ["history", str(folder), "--workdir", str(workdir)])
    assert "files 6 -> 1  by lakebed compact" in shown.stdout


def test_nothing_to_gain_is_no_commit(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t", files=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    done = lakebed.compact(str(folder), workdir=workdir)
    assert (done.files_rewritten, done.files_after, done.version) == (0, 1, None)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path in before} == before
    assert not workdir.exists()


def test_compacting_twice_is_compacting_once(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t")
    lakebed.compact(str(folder), sort_by="n", workdir=workdir)
    (file,) = folder.glob("*.parquet")
    before = file.read_bytes()
    assert lakebed.compact(str(folder), sort_by="n", workdir=workdir).files_rewritten == 0
    assert file.read_bytes() == before


def test_a_dry_run_says_what_it_would_gain_and_touches_nothing(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t")
    before = sorted(tmp_path.rglob("*"))
    said = lakebed.compact(str(folder), dry_run=True, workdir=workdir)
    assert sorted(tmp_path.rglob("*")) == before
    done = lakebed.compact(str(folder), workdir=workdir)
    assert said.dry_run
    assert (said.files_before, said.files_after, said.rows) == (done.files_before, done.files_after, done.rows)
    assert said.bytes_before == done.bytes_before
    assert said.bytes_after is None


def test_large_files_stay_and_packs_are_no_larger_than_asked(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t", files=7)
    each = max(path.stat().st_size for path in folder.glob("*.parquet"))
    big = folder / "big.parquet"
    pq.write_table(pa.concat_tables([rows_of(number) for number in range(100, 400)]), big)
    kept = big.read_bytes()
    done = lakebed.compact(str(folder), target_size=3 * each, workdir=workdir)
    assert (done.files_before, done.files_rewritten, done.files_written) == (8, 6, 2)
    assert big.read_bytes() == kept
    assert done.files_after == len(list(folder.glob("*.parquet"))) == 4


def test_partitions_are_never_put_together(tmp_path: Path, workdir: Path) -> None:
    folder = tmp_path / "t"
    for number in range(4):
        rows = rows_of(number).append_column("part", pa.array(["a=b", None] * 5))
        parts = pads.partitioning(pa.schema([("part", pa.string())]), flavor="hive")
        pads.write_dataset(
            rows,
            folder,
            format="parquet",
            partitioning=parts,
            basename_template=f"{number}-{{i}}.parquet",
            existing_data_behavior="overwrite_or_ignore",
        )
    before = as_set(read(str(folder), workdir))
    done = lakebed.compact(str(folder), workdir=workdir)
    assert (done.files_before, done.files_after) == (8, 2)
    assert as_set(read(str(folder), workdir)) == before


def test_one_month_of_a_loaded_table(tmp_path: Path, workdir: Path) -> None:
    folder = tmp_path / "t"
    for period in ("2026-09", "2026-10"):
        for number in range(3):
            place = folder / f"lakebed_period={period}"
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows_of(number), place / f"{number}.parquet")
    done = lakebed.compact(str(folder), period="2026-10", workdir=workdir)
    assert (done.files_before, done.files_after, done.rows) == (6, 4, 30)
    assert len(list((folder / "lakebed_period=2026-09").iterdir())) == 3
    with pytest.raises(ConfigError, match="not partitioned by lakebed_period"):
        lakebed.compact(str(folder_of(tmp_path / "plain")), period="2026-10", workdir=workdir)


def test_files_of_several_schemas_become_one_of_the_tables(tmp_path: Path, workdir: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "s": [{"a": 1}]}), folder / "0.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "s": [{"a": 2}], "new": ["x"]}), folder / "1.parquet")
    before = as_set(read(str(folder), workdir))
    lakebed.compact(str(folder), workdir=workdir)
    (file,) = folder.glob("*.parquet")
    assert as_set(pq.read_table(file)) == before


@pytest.mark.parametrize("target", ["parquet", "iceberg"])
def test_rows_are_sorted_within_the_new_file(tmp_path: Path, workdir: Path, target: str) -> None:
    address = str(folder_of(tmp_path / "t")) if target == "parquet" else iceberg_of(workdir)
    before = as_set(read(address, workdir))
    lakebed.compact(address, sort_by=["N", "filename"] if target == "parquet" else ["n", "filename"], workdir=workdir)
    found = read(address, workdir)
    assert as_set(found) == before
    keys = [(row["n"] is None, row["n"], row["filename"]) for row in found.to_pylist()]
    assert keys == sorted(keys)


def test_files_are_put_together_in_the_order_of_what_they_are_sorted_by(tmp_path: Path, workdir: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number, first in enumerate([300, 0, 200, 100]):
        pq.write_table(pa.table({"id": range(first, first + 100)}), folder / f"{number}.parquet")
    each = max(path.stat().st_size for path in folder.glob("*.parquet"))
    lakebed.compact(str(folder), target_size=2 * each + 10, sort_by="id", workdir=workdir)
    found = sorted(pq.read_table(path)["id"].to_pylist() for path in folder.glob("*.parquet"))
    assert found == [list(range(200)), list(range(200, 400))]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"sort_by": "nothing"}, "no column nothing to sort by"),
        ({"sort_by": "tag"}, "has no order"),
        ({"target_size": "many"}, "'many' is not a size"),
        ({"target_size": "0"}, "'0' is not a size"),
        ({"target_size": -5}, "-5 is not a size"),
    ],
)
def test_what_is_refused(tmp_path: Path, workdir: Path, given: dict[str, object], told: str) -> None:
    folder = folder_of(tmp_path / "t")
    with pytest.raises(ConfigError, match=told):
        lakebed.compact(str(folder), workdir=workdir, **given)  # type: ignore[arg-type]
    assert len(list(folder.iterdir())) == 6


def test_a_duckdb_table_is_refused(tmp_path: Path, workdir: Path) -> None:
    address = f"duckdb:{tmp_path}/t.duckdb#t"
    lakebed.merge(rows_of(0).drop_columns(["tag"]), address, keys="filename", workdir=workdir)
    with pytest.raises(ConfigError, match="not made of files") as caught:
        lakebed.compact(address, workdir=workdir)
    assert "CHECKPOINT" in (caught.value.remedy or "")


def test_no_table_is_said(tmp_path: Path, workdir: Path) -> None:
    with pytest.raises(NotFound, match="there is no table"):
        lakebed.compact(str(tmp_path / "nothing"), workdir=workdir)


@pytest.mark.parametrize(
    "lie",
    [
        Contents(59, {}, {}),
        Contents(60, {"n": 5}, {}),
        Contents(60, {}, {"Cost": Decimal("0.1")}),
    ],
    ids=["a row", "a NULL", "a cent"],
)
def test_what_was_written_must_be_what_was_read(
    tmp_path: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch, lie: Contents
) -> None:
    folder = folder_of(tmp_path / "t")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    honest = ArrowEngine.compact

    def lying(self: ArrowEngine, job: CompactJob) -> tuple[Compacted, ...]:
        (one,) = honest(self, job)
        after = Contents(lie.rows, {**one.after.nulls, **lie.nulls}, {**one.after.sums, **lie.sums})
        return (Compacted(one.files, one.before, after),)

    monkeypatch.setattr(ArrowEngine, "compact", lying)
    with pytest.raises(EngineError, match="60 rows, 60 were read"):
        lakebed.compact(str(folder), workdir=workdir)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_commit_in_between_is_planned_again(
    tmp_path: Path, workdir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = folder_of(tmp_path / "t")
    honest = ArrowEngine.compact
    calls: list[int] = []

    def interrupted(self: ArrowEngine, job: CompactJob) -> tuple[Compacted, ...]:
        calls.append(len(job.packs[0]))
        if len(calls) == 1:
            pq.write_table(rows_of(9), folder / "late.parquet")
        return honest(self, job)

    monkeypatch.setattr(ArrowEngine, "compact", interrupted)
    with caplog.at_level(logging.INFO):
        done = lakebed.compact(str(folder), workdir=workdir)
    assert calls == [6, 7]
    assert (done.files_after, pq.read_table(folder).num_rows) == (1, 70)


@pytest.mark.parametrize(
    ("text", "size"),
    [("256MB", 256 << 20), ("1.5 GiB", 3 << 29), ("64m", 64 << 20), ("1000", 1000), (7, 7), ("2 tb", 2 << 40)],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size


def test_the_command_line_prints_what_happened(tmp_path: Path, workdir: Path) -> None:
    folder = folder_of(tmp_path / "t")
    run = CliRunner().invoke
    arguments = ["compact", str(folder), "--workdir", str(workdir)]
    would = run(build(["compact"]), [*arguments, "--dry-run"])
    assert "6 files would become 1" in would.stdout
    done = json.loads(run(build(["compact"]), [*arguments, "--sort-by", "n, filename", "--json"]).stdout)
    assert (done["filesBefore"], done["filesAfter"], done["dryRun"]) == (6, 1, False)
    again = run(build(["compact"]), arguments)
    assert "nothing to gain" in again.stdout
    wrong = run(build(["compact"]), [*arguments, "--target-size", "some", "--json"])
    assert wrong.exit_code == 2
    assert "is not a size" in json.loads(wrong.stdout)["error"]["message"]


@pytest.mark.spark
@pytest.mark.parametrize("target", ["parquet", "iceberg"])
def test_on_spark(tmp_path: Path, workdir: Path, spark_local: Session, target: str) -> None:
    address = str(folder_of(tmp_path / "t")) if target == "parquet" else iceberg_of(workdir)
    before = as_set(read(address, workdir))
    done = lakebed.compact(address, sort_by="n", spark=spark_local.spark, workdir=workdir)
    assert (done.files_before, done.files_after, done.rows) == (6, 1, 60)
    assert as_set(read(address, workdir)) == before


def test_the_sort_order_that_others_gave_an_iceberg_table_is_kept(workdir: Path) -> None:
    address = "iceberg:billing.sorted"
    for tint, size in (("red", 3), (None, 1), ("blue", 2), ("red", 9), ("blue", None), ("red", None)):
        rows = {"tint": pa.array([tint], pa.string()), "size": pa.array([size], pa.int64())}
        lakebed.write(pa.table(rows), address, workdir=workdir)
    target = Workspace.open({"workdir": str(workdir)}).target(address)
    assert isinstance(target, IcebergTarget)
    with target.existing_table().update_sort_order() as update:
        update.desc("tint", IdentityTransform(), NullOrder.NULLS_FIRST)
        update.asc("size", IdentityTransform(), NullOrder.NULLS_LAST)
    before = as_set(read(address, workdir))
    assert lakebed.compact(address, workdir=workdir).files_after == 1
    found = [tuple(row.values()) for row in read(address, workdir).to_pylist()]
    assert found == [(None, 1), ("red", 3), ("red", 9), ("red", None), ("blue", 2), ("blue", None)]
    assert as_set(read(address, workdir)) == before
    for tint in ("green", "amber"):
        lakebed.write(pa.table({"tint": [tint]}), address, workdir=workdir)
    lakebed.compact(address, sort_by="tint", workdir=workdir)
    assert [row["tint"] for row in read(address, workdir).to_pylist()][:3] == ["amber", "blue", "blue"]
