"""Parquet datasets that others made, and what plain folders can hold."""

import threading
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from lakebed.errors import AmbiguousColumnCase, SchemaError, SchemaIncompatible, TargetError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import PERIOD, DataFile, Slice
from lakebed.schema.evolve import plan_evolution
from lakebed.schema.types import Column, Integer, Schema, Text
from lakebed.storage import Storage
from lakebed.targets.base import Change
from lakebed.targets.parquet import state as parquet
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.targets.shared.footers import Footer, match, read_footers, with_bounds
from lakebed.testing.target import BASE, NOVEMBER, OCTOBER, Loader, contents, rows


def write(folder: Path, name: str, **columns: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def test_hive_partitions_of_others(tmp_path: Path) -> None:
    write(tmp_path, "year=2026/month=01/a.parquet", id=[1])
    write(tmp_path, "year=2026/month=__HIVE_DEFAULT_PARTITION__/a.parquet", id=[2])
    write(tmp_path, "year=a%3Ab%20c/month=ü/a b#.parquet", id=[3])
    target = ParquetTarget(str(tmp_path))
    state = target.state()
    assert state.partition_by == ("year", "month")
    assert [(column.name, str(column.type)) for column in state.schema] == [
        ("id", "int64"),
        ("year", "text"),
        ("month", "text"),
    ]
    assert contents(target) == [
        {"id": 1, "year": "2026", "month": "01"},
        {"id": 2, "year": "2026", "month": None},
        {"id": 3, "year": "a:b c", "month": "ü"},
    ]
    assert target.read(["month"]).to_table(filter=pads.field("month") == "01").num_rows == 1


def test_hidden_files_are_not_data(tmp_path: Path) -> None:
    write(tmp_path, "deep/er/a.parquet", id=[1])
    write(tmp_path, "_part=x/a.parquet", id=[2])
    for hidden in ("_temporary/a.parquet", ".hidden.parquet", "_metadata.parquet", ".d/a.parquet"):
        write(tmp_path, hidden, other=["x"])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "a.parquet.tmp").write_bytes(b"no")
    (tmp_path / "a.parquet.crc").write_bytes(b"no")
    assert ParquetTarget(str(tmp_path)).state().rows == 2


def test_types_that_files_disagree_on_are_widened(tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", id=pa.array([1], pa.int32()), cost=pa.array([Decimal("1.5")], pa.decimal128(9, 2)))
    write(tmp_path, "b.parquet", id=pa.array([2**40]), cost=pa.array([Decimal("2.1234")], pa.decimal128(18, 4)))
    write(tmp_path, "c.parquet", id=pa.array([3]), text=pa.array(["x"]).dictionary_encode())
    write(tmp_path, "d.parquet", id=pa.array([4]), text=pa.array(["y"], pa.large_string()))
    target = ParquetTarget(str(tmp_path))
    assert {column.name: str(column.type) for column in target.state().schema} == {
        "id": "int64",
        "cost": "decimal(18,4)",
        "text": "text",
    }
    assert contents(target) == [
        {"id": 1, "cost": Decimal("1.5"), "text": None},
        {"id": 3, "cost": None, "text": "x"},
        {"id": 4, "cost": None, "text": "y"},
        {"id": 2**40, "cost": Decimal("2.1234"), "text": None},
    ]
    assert target.totals(None, ["cost"]).sums == {"cost": Decimal("3.6234")}


def test_files_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "types/a.parquet", id=[1])
    write(tmp_path, "types/b.parquet", id=["x"])
    with pytest.raises(SchemaIncompatible, match=r"b\.parquet|a\.parquet"):
        ParquetTarget(str(tmp_path / "types")).state()
    write(tmp_path, "case/a.parquet", id=[1])
    write(tmp_path, "case/b.parquet", ID=[1])
    with pytest.raises(AmbiguousColumnCase):
        ParquetTarget(str(tmp_path / "case")).state()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/a.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(TargetError, match=r"a\.parquet is not a Parquet file"):
        ParquetTarget(str(tmp_path / "broken")).state()
    with pytest.raises(TargetError, match="is a file"):
        ParquetTarget(str(tmp_path / "types/a.parquet"))


def test_a_file_that_others_add_or_replace_is_a_conflict(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    loader.load(rows(OCTOBER, [1]))
    version = target.state().version
    (path,) = (tmp_path / "t").glob("*.parquet")
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    assert target.state().version != version


def test_only_the_files_of_a_slice_are_touched(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    loader.load(rows(OCTOBER, [1]))
    loader.load(rows(NOVEMBER, [2]))
    loader.load([*rows(OCTOBER, [3]), *rows(NOVEMBER, [4])])
    state = target.state()
    affected = target.affected(state, OCTOBER)
    assert [file.rows for file in affected.whole] == [1]
    assert [file.rows for file in affected.mixed] == [2]
    assert target.affected(state, Slice("payer", "report", "2025-01")) == type(affected)()


def test_a_partition_decides_without_bounds(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    Loader(target, StorageSettings(), (PERIOD,)).load([*rows(OCTOBER, [1]), *rows(NOVEMBER, [2])])
    assert {path.parent.name for path in (tmp_path / "t").rglob("*.parquet")} == {
        "lakebed_period=2026-10",
        "lakebed_period=2026-11",
    }
    affected = target.affected(target.state(), OCTOBER)
    assert [file.partition for file in affected.whole] == [{PERIOD: "2026-10"}]
    assert affected.mixed == ()


def test_a_column_in_no_file_is_null_there(tmp_path: Path) -> None:
    path = write(
        tmp_path, "a.parquet", id=[1, 2], real=[0.5, float("nan")], text=["a" * 80, "b"], gone=pa.nulls(2, pa.string())
    )
    (file,) = with_bounds([DataFile(str(path), 2, 0)], Storage(), ["id", "absent", "real", "text", "gone"])
    assert (file.bounds["id"].minimum, file.bounds["id"].maximum, file.bounds["id"].nulls) == (1, 2, 0)
    assert file.bounds["absent"].nulls == 2
    assert "real" not in file.bounds
    assert not file.bounds["text"].exact
    assert match(file, {"absent": "x"}) == match(file, {"gone": "x"}) == match(file, {"text": "c"}) == "none"
    assert match(file, {"text": "b"}) == "some"


def test_footers_of_other_writers(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute(
        f"COPY (SELECT 1::INTEGER AS id, 'x' AS name, 1.5::DECIMAL(10,2) AS cost, TIMESTAMP '2026-10-01' AS at,"
        f" {{'a': 1}} AS nested) TO '{tmp_path}/d.parquet'"
    )
    (footer,) = read_footers([DataFile(f"{tmp_path}/d.parquet", 0, 0)], Storage())
    assert footer.file.rows == 1
    assert footer.file.bounds["name"].minimum == "x"
    assert footer.file.bounds["cost"].maximum == Decimal("1.50")
    assert "nested" not in footer.file.bounds


def test_widened_files_must_be_replaced(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    loader.load(rows(OCTOBER, [1], quantity=1), schema=BASE.with_columns([Column("quantity", Integer(32))]))
    state = target.state()
    plan = plan_evolution(state.schema, BASE.with_columns([Column("quantity", Integer(64))]))
    assert target.files_to_widen(state, plan) == state.files
    staging = target.stage(state, plan)
    with pytest.raises(TargetError, match="widened column"):
        target.commit(state, staging, Change(plan))
    target.abandon(staging)
    assert target.state() == state


def test_what_a_writer_says_is_checked(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), ())
    prepared = loader.prepare(rows(OCTOBER, [1]))
    (file,) = prepared.change.add
    pq.write_table(pa.table({"id": ["text"]}), f"{prepared.staging.folder}/{file.path}")
    with pytest.raises(TargetError, match="column id is string"):
        target.commit(prepared.state, prepared.staging, prepared.change)
    assert not target.state().exists


def test_partitions_are_text_and_never_empty(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    plan = plan_evolution(None, Schema.of([Column("id", Integer()), Column("p", Text())]))
    with pytest.raises(SchemaError, match="paths hold text"):
        target.stage(target.state(), plan, partition_by=["id"])
    with pytest.raises(SchemaError, match="no such column"):
        target.stage(target.state(), plan, partition_by=["q"])
    loader = Loader(target, StorageSettings(), ("tag",))
    schema = BASE.with_columns([Column("tag", Text())])
    with pytest.raises(TargetError, match="NULL"):
        loader.load(rows(OCTOBER, [1], tag=""), schema=schema)
    odd = "a/b:c=d%e\n'\"[x]*?ü"
    loader.load(
        [*rows(OCTOBER, [1], tag=odd), *rows(OCTOBER, [2], tag=None), *rows(OCTOBER, [3], tag="01")], schema=schema
    )
    assert [row["tag"] for row in contents(target)] == [odd, None, "01"]
    seen = duckdb.connect().sql(
        f"SELECT tag FROM read_parquet('{tmp_path}/t/**/*.parquet', hive_partitioning = true,"
        " hive_types_autocast = false) ORDER BY id"
    )
    assert seen.fetchall() == [(odd,), (None,), ("01",)]


def test_schema_carriers_go_when_they_are_not_needed(tmp_path: Path) -> None:
    target = ParquetTarget(str(tmp_path / "t"))
    loader = Loader(target, StorageSettings(), (PERIOD,))
    wider = BASE.with_columns([Column("tag", Text(), original="Tag")])
    loader.load([], schema=wider)
    assert target.state().schema["tag"].original == "Tag"
    assert target.state().partition_by == (PERIOD,)
    assert len(list((tmp_path / "t").rglob("schema-*.parquet"))) == 1
    loader.load(rows(OCTOBER, [1], tag="x"), schema=wider)
    assert list((tmp_path / "t").rglob("schema-*.parquet")) == []
    assert list((tmp_path / "t").iterdir()) == [tmp_path / "t/lakebed_period=2026-10"]
    # A writer that knows nothing of original names, as DuckDB, must not make the table forget them.
    prepared = loader.prepare(rows(OCTOBER, [2], tag="y"), schema=wider, replacing=OCTOBER)
    (file,) = prepared.change.add
    path = Path(prepared.staging.folder) / file.path
    duckdb.connect().execute(f"COPY (FROM '{path}') TO '{path}.new' (FORMAT parquet)")
    Path(f"{path}.new").replace(path)
    add = (type(file)(file.path, 1, path.stat().st_size, file.partition),)
    change = Change(prepared.change.evolution, add, prepared.change.remove)
    target.commit(prepared.state, prepared.staging, change)
    again = ParquetTarget(str(tmp_path / "t"))
    assert again.state().schema["tag"].original == "Tag"
    assert [row["tag"] for row in contents(again)] == ["y"]


def test_footers_are_kept_for_the_next_process_and_never_trusted_blindly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "CACHE_FROM", 3)
    place = str(tmp_path / "t")
    loader = Loader(ParquetTarget(place), StorageSettings(), ())
    for prepared in (loader.prepare(rows(OCTOBER, range(5)), rows_per_file=1),):
        loader.target.commit(prepared.state, prepared.staging, prepared.change)
    read: list[str] = []

    def counting(files: Iterable[DataFile], *arguments: object, **options: object) -> tuple[Footer, ...]:
        files = tuple(files)
        read.extend(file.uri for file in files)
        return read_footers(files, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(parquet, "read_footers", counting)
    fresh = ParquetTarget(place)
    state = fresh.state()
    assert read == []
    assert state.rows == 5
    assert len(fresh.affected(state, OCTOBER).whole) == 5
    assert state.schema["cost"].original == "lineItem/UnblendedCost"
    changed = Path(state.files[0].uri)
    pq.write_table(pa.concat_tables([pq.read_table(changed)] * 2), changed)
    assert ParquetTarget(place).state().rows == 6
    assert set(read) == {str(changed)}
    (tmp_path / ".t.txn/footers.json").write_bytes(b"damaged")
    assert ParquetTarget(place).state().rows == 6


def test_links_lead_to_one_journal(tmp_path: Path) -> None:
    real, link = tmp_path / "disk/real", tmp_path / "link"
    real.mkdir(parents=True)
    link.symlink_to(real)
    through = ParquetTarget(str(link))
    Loader(through, StorageSettings(), ()).load(rows(OCTOBER, [1]))
    assert through.address == f"parquet:{link}"
    assert (tmp_path / "disk/.real.txn/commit.json").exists()
    assert ParquetTarget(str(real)).state() == through.state()


@pytest.mark.parametrize("place", ["/", "s3://bucket", "s3://bucket/"])
def test_a_place_with_nothing_beside_it_is_refused(place: str) -> None:
    with pytest.raises(TargetError, match="beside"):
        ParquetTarget(place)


def test_a_commit_that_has_happened_cannot_be_abandoned(tmp_path: Path) -> None:
    def stop(name: str) -> None:
        if name == "recorded":
            raise OSError("the power went off")

    target = ParquetTarget(str(tmp_path / "t"), checkpoint=stop)
    prepared = Loader(target, StorageSettings(), ()).prepare(rows(OCTOBER, [1]))
    with pytest.raises(OSError, match="power"):
        target.commit(prepared.state, prepared.staging, prepared.change)
    target.abandon(prepared.staging)
    assert contents(ParquetTarget(str(tmp_path / "t"))) == rows(OCTOBER, [1])


def test_damage_of_an_interrupted_commit_is_said(tmp_path: Path) -> None:
    def stop(name: str) -> None:
        if name == "recorded":
            raise OSError("the power went off")

    target = ParquetTarget(str(tmp_path / "t"), checkpoint=stop)
    prepared = Loader(target, StorageSettings(), ()).prepare(rows(OCTOBER, [1]))
    with pytest.raises(OSError, match="power"):
        target.commit(prepared.state, prepared.staging, prepared.change)
    staged = Path(prepared.staging.folder) / prepared.change.add[0].path
    content = staged.read_bytes()
    staged.write_bytes(content[:-1] + b"?")
    with pytest.raises(TargetError, match="not what was committed"):
        ParquetTarget(str(tmp_path / "t")).state()
    staged.unlink()
    with pytest.raises(TargetError, match="neither staged nor in place"):
        ParquetTarget(str(tmp_path / "t")).state()
    staged.write_bytes(content)
    assert ParquetTarget(str(tmp_path / "t")).state().rows == 1


def test_sums_are_of_one_state_while_others_commit(tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    allowed = {10: sum(range(10)), 12: sum(range(100, 112))}
    states = [rows(OCTOBER, range(10)), rows(OCTOBER, range(100, 112))]
    loader = Loader(ParquetTarget(place), StorageSettings(), ())

    def commit(number: int) -> None:
        prepared = loader.prepare(states[number % 2], replacing=OCTOBER, rows_per_file=1)
        loader.target.commit(prepared.state, prepared.staging, prepared.change)

    commit(0)
    done = threading.Event()

    def keep_committing() -> None:
        for number in range(1, 12):
            commit(number)
        done.set()

    writer = threading.Thread(target=keep_committing)
    writer.start()
    seen = set()
    while not done.is_set():
        totals = ParquetTarget(place).totals(OCTOBER, ["id"])
        assert totals.sums["id"] == allowed[totals.rows]
        seen.add(totals.rows)
    writer.join()
    assert seen
