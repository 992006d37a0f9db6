"""What an ingest does when things go on around it: files that change, others that write, a ledger that is lost."""

import gzip
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.arrow_runs import use_arrow
from tests.support.s3_server import S3Server

import lakebed
from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob, InspectJob
from lakebed.errors import BadValue, ConfigError, LakebedError, SourceError
from lakebed.model import SourceFile
from lakebed.pipeline.ingest_plan import KnownFile, decide_files, identity_of
from lakebed.pipeline.progress import Observer
from lakebed.state.records import FileRecord
from lakebed.workspace import Workspace


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_arrow(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()


def put(name: str, text: str) -> Path:
    path = Path("in", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def ids(target: str = "parquet:out", column: str = "id") -> list[object]:
    found = lakebed.read(target)
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(table[column].to_pylist(), key=str)


def test_a_known_file_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.csv", "id\n1\n")
    lakebed.ingest("in", "parquet:out")

    def refuse(*_: object) -> object:
        raise AssertionError("read again")

    monkeypatch.setattr(ArrowEngine, "inspect", refuse)
    assert lakebed.ingest("in", "parquet:out").deliveries[0].skipped


def test_a_touched_file_is_read_and_skipped() -> None:
    path = put("a.csv", "id\n1\n")
    lakebed.ingest("in", "parquet:out")
    os.utime(path, (1, 1))
    again = lakebed.ingest("in", "parquet:out")
    assert (again.loaded, again.rows, [one.action for one in again.files]) == (0, 1, ["skip"])


@pytest.mark.parametrize("step", ["inspect", "convert"])
def test_a_file_that_changes_while_it_is_read_is_read_again(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("a.csv", "id\n1\n")
    put("b.csv", "id\n2\n")
    real = getattr(ArrowEngine, step)
    times = []

    def changing(engine: ArrowEngine, job: InspectJob | ConvertJob, *more: Any) -> object:
        times.append(step)
        if len(times) == 1:
            path.write_text("id\n10\n11\n")
        return real(engine, job, *more)

    monkeypatch.setattr(ArrowEngine, step, changing)
    done = lakebed.ingest("in", "parquet:out")
    assert (done.loaded, ids()) == (3, [10, 11, 2])
    assert len(times) == 2
    assert lakebed.ingest("in", "parquet:out").loaded == 0


def test_a_file_that_never_holds_still_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("a.csv", "id\n1\n")
    real = ArrowEngine.convert
    times = []

    def changing(engine: ArrowEngine, job: ConvertJob, *more: Any) -> object:
        times.append(1)
        path.write_text("id\n" + "1\n" * len(times) * 2)
        return real(engine, job, *more)

    monkeypatch.setattr(ArrowEngine, "convert", changing)
    with pytest.raises(LakebedError, match=r"a\.csv was written over while it was read"):
        lakebed.ingest("in", "parquet:out")
    assert len(times) == 3
    monkeypatch.setattr(ArrowEngine, "convert", real)
    assert lakebed.ingest("in", "parquet:out").rows == 6


@pytest.mark.parametrize("target", ["parquet:out", "duckdb:out.duckdb#t", "iceberg:web.t"])
def test_two_with_ledgers_of_their_own_load_each_file_once(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put("a.csv", "id\n1\n")
    lakebed.ingest("in", target, workdir=".lakebed")
    put("a.csv", "id\n3\n")
    put("b.csv", "id\n2\n")
    real = ArrowEngine.convert
    raced = []

    def racing(engine: ArrowEngine, job: ConvertJob, *more: Any) -> object:
        converted = real(engine, job, *more)
        if not raced:
            raced.append(1)
            # The same catalog and another ledger, as on another machine.
            other = {"workdir": ".lakebed", "ledger": "sqlite:///other.db"}
            with pytest.raises(SourceError, match=r"may be new, or have rows in the table"):
                lakebed.ingest("in", target, **other)  # type: ignore[arg-type]
            lakebed.ingest("in", target, assume_new=True, **other)  # type: ignore[arg-type]
        return converted

    monkeypatch.setattr(ArrowEngine, "convert", racing)
    done = lakebed.ingest("in", target, workdir=".lakebed")
    assert done.deliveries[0].retries >= 1
    # The other ledger knew nothing of the path, and left its old row; this one removes it.
    assert ids(target) == [2, 3]


def test_damaged_files_refuse_the_call_by_their_names_and_the_others_load_by_a_pattern() -> None:
    put("good-1.csv", "id\n1\n")
    whole = gzip.compress(b"id\n" + b"1234567\n" * 1000)
    for number in range(7):
        Path("in", f"bad-{number}.csv.gz").write_bytes(whole[:-20])
    with pytest.raises(SourceError) as refused:
        lakebed.ingest("in", "parquet:out")
    said = str(refused.value)
    assert "bad-0.csv.gz: the gzip data is cut short (6 more files cannot be read: " in said
    assert said.count(".csv.gz") == 6
    assert "good" not in said
    assert not Path("out").exists()
    assert lakebed.ingest("in/good-*", "parquet:out").rows == 1


def test_of_two_at_once_with_one_ledger_the_second_says_so() -> None:
    put("a.csv", "id\n1\n")
    inside, reports = threading.Event(), []

    class Second(Observer):
        def loading(self, delivery: object) -> None:
            reports.append(lakebed.ingest("in", "parquet:out"))
            inside.set()

    first = lakebed.ingest("in", "parquet:out", observer=Second())
    [second] = reports
    assert (first.loaded, second.deliveries[0].state, second.loaded) == (1, "loading", 0)
    assert "process" in second.warnings[0] or "claim" in second.warnings[0]
    assert ids() == [1]


def test_a_lost_ledger_loads_nothing_twice_and_learns_the_paths_again() -> None:
    put("a.csv", "id\n1\n")
    put("b.csv", "id\n2\n")
    lakebed.ingest("in", "parquet:out")
    shutil.rmtree(".lakebed")
    # Every file that the table holds is here: what is not in the table is new.
    put("c.csv", "id\n4\n")
    again = lakebed.ingest("in", "parquet:out")
    assert (again.loaded, ids(), again.warnings) == (1, [1, 2, 4], ())
    Path("in", "c.csv").unlink()
    put("a.csv", "id\n3\n")
    # The ledger has learnt the paths from the files that it skipped.
    assert (lakebed.ingest("in", "parquet:out").removed, ids()) == (1, [2, 3, 4])


@pytest.mark.parametrize("target", ["parquet:out", "duckdb:out.duckdb#t", "iceberg:web.t"])
def test_a_lost_ledger_never_puts_a_changed_file_beside_its_old_rows(target: str) -> None:
    catalog = {"workdir": ".lakebed"}
    put("a.csv", "id\n1\n")
    put("b.csv", "id\n2\n")
    lakebed.ingest("in", target, **catalog)  # type: ignore[arg-type]
    Path(".lakebed/ledger.db").unlink()
    put("a.csv", "id\n3\n")
    for dry_run in (True, False):
        with pytest.raises(SourceError) as refused:
            lakebed.ingest("in", target, dry_run=dry_run, **catalog)  # type: ignore[arg-type]
        assert "1 of them is not under in: gone, or changed since" in str(refused.value)
        assert "a.csv may be new, or have rows" in str(refused.value)
        assert "--assume-new" in str(refused.value)
        assert ids(target) == [1, 2]
    put("a.csv", "id\n1\n")
    assert lakebed.ingest("in", target, **catalog).loaded == 0  # type: ignore[arg-type]
    # Keys match rows, whatever the ledger knows; a user who knows better says so.
    Path(".lakebed/ledger.db").unlink()
    Path("in", "b.csv").unlink()
    put("c.csv", "id\n5\n")
    done = lakebed.ingest("in", target, assume_new=True, **catalog)  # type: ignore[arg-type]
    assert (done.loaded, ids(target)) == (1, [1, 2, 5])
    assert "the ledger knows none of the files" in done.warnings[0]


def test_rows_that_another_removed_come_again_when_the_file_does() -> None:
    put("a.csv", "id\n1\n")
    put("b.csv", "id\n2\n")
    lakebed.ingest("in", "duckdb:out.duckdb#t")
    rows = lakebed.read("duckdb:out.duckdb#t")
    assert isinstance(rows, pa.Table)
    lakebed.write(rows.slice(0, 1), "duckdb:out.duckdb#t", mode="overwrite")
    assert lakebed.ingest("in", "duckdb:out.duckdb#t").loaded == 1
    assert ids("duckdb:out.duckdb#t") == [1, 2]


def test_patterns_files_and_strange_names() -> None:
    put("a.csv", "id\n1\n")
    put("b.csv", "id\n2\n")
    put("deep/c.csv", "id\n3\n")
    put("deep/_SUCCESS", "")
    put("deep/.d.csv", "id\n9\n")
    put("notes.md", "# nothing")
    assert lakebed.ingest("in/a.csv", "parquet:one").rows == 1
    assert lakebed.ingest("in/[ab].csv", "parquet:two").rows == 2
    assert lakebed.ingest("in/**/*.csv", "parquet:three").rows == 3
    assert lakebed.ingest("in/*/c.csv", "parquet:four").rows == 1
    done = lakebed.ingest("in", "parquet:five")
    assert done.rows == 3
    assert any("notes.md" in warning for warning in done.warnings)
    with pytest.raises(SourceError, match=r"--strict refuses .*notes\.md"):
        lakebed.ingest("in", "parquet:six", strict=True)
    with pytest.raises(SourceError, match="--format csv, json or parquet"):
        lakebed.ingest("in/*.md", "parquet:six")
    with pytest.raises(SourceError, match="no file to load"):
        lakebed.ingest("in/*.nothing", "parquet:six")


def test_a_partition_folder_given_alone_is_a_column_too() -> None:
    put("day=2026-11-01/a.csv", "id\n1\n")
    lakebed.ingest("in", "parquet:out")
    again = lakebed.ingest("in/day=2026-11-01", "parquet:out")
    assert (again.loaded, again.rows) == (0, 1)


def test_the_table_is_partitioned_where_it_is_asked_for() -> None:
    put("day=2026-11-01/a.csv", "id\n1\n")
    put("day=2026-11-02/b.csv", "id\n2\n")
    lakebed.ingest("in", "parquet:out", partition_by="day")
    assert sorted(path.parent.name for path in Path("out").rglob("*.parquet")) == ["day=2026-11-01", "day=2026-11-02"]
    put("day=2026-11-02/b.csv", "id\n3\n")
    assert (lakebed.ingest("in", "parquet:out").removed, ids()) == (1, [1, 3])
    put("day=2026-11-03/c.csv", "id\n4\n")
    with pytest.raises(ConfigError, match="partitioned by day, not by id"):
        lakebed.ingest("in", "parquet:out", partition_by="id")


def test_parquet_files_of_several_schemas() -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "x": [1.5]}), "in/a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "s": [{"a": 1}]}), "in/b.parquet")
    put("c.csv", "id,x\n3,0.25\n")
    done = lakebed.ingest("in", "parquet:out")
    assert (done.types["id"], done.types["x"], done.types["s"]) == ("int64", "text", "struct<a: int64>")
    assert sorted(filter(None, ids(column="x"))) == ["0.25", "1.5"]


def test_a_type_that_the_user_says_wins_over_the_codes_in_it() -> None:
    put("a.csv", "id,n\n1,007\n")
    done = lakebed.ingest("in", "parquet:out", types="n bigint")
    assert (done.types["n"], ids(column="n")) == ("int64", [7])


@pytest.mark.parametrize("text", ["007", "1e5", "NULL", "+5", "true"])
def test_what_inference_would_not_take_for_a_number_is_refused_later(text: str) -> None:
    put("a.csv", "id,n\n1,5\n")
    lakebed.ingest("in", "parquet:out")
    put("b.csv", f"id,n\n2,{text}\n")
    with pytest.raises(BadValue, match=r"b\.csv, line 2, column n"):
        lakebed.ingest("in", "parquet:out")
    assert ids() == [1]


def test_objects_whose_keys_are_data_are_refused_before_they_fill_the_memory() -> None:
    put("a.json", "".join(f'{{"by_user": {{"u{n}": 1}}}}\n' for n in range(300)))
    with pytest.raises(SourceError, match=r"a\.json: it has 301 columns"):
        lakebed.ingest("in", "parquet:out", columns=200)
    assert lakebed.ingest("in", "parquet:out", types={"by_user": "map<string,int>"}).loaded == 300


def test_reserved_names_in_files_are_ordinary_columns() -> None:
    put("a.csv", "lakebed_file,lakebed_payer\nmine,x\n")
    done = lakebed.ingest("in", "parquet:out")
    assert set(done.types) == {"lakebed_file_1", "lakebed_payer_1"}


def test_without_inference_json_is_text_too() -> None:
    put("a.json", '{"id": 1, "who": {"n": 1.10}, "x": null}\n')
    done = lakebed.ingest("in", "parquet:out", infer=False)
    assert (done.types, ids(column="who")) == ({"id": "text", "who": "text"}, ['{"n": 1.10}'])


def test_types_of_columns_that_no_file_has_are_said() -> None:
    put("a.csv", "id\n1\n")
    done = lakebed.ingest("in", "parquet:out", types={"Idd": "string"})
    assert "types names the column Idd, which no file has" in done.warnings


def test_what_made_a_column_text_is_said() -> None:
    put("a.csv", "id,n\n1,5\n2,n/a\n")
    done = lakebed.ingest("in", "parquet:out")
    assert any("column n is text, because 'n/a' is among its numbers" in warning for warning in done.warnings)


def test_the_table_may_not_lie_in_its_source() -> None:
    put("a.csv", "id\n1\n")
    with pytest.raises(ConfigError, match="lies inside of its own source"):
        lakebed.ingest("in", "parquet:in/table")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"strategy": "insert"}, "no meaning without keys"),
        ({"keys": "id", "strategy": "full_merge"}, "full_merge removes"),
        ({"keys": "id", "strategy": "sideways"}, "Invalid merge strategy"),
        ({"keys": "nope"}, "none of the files has the column nope"),
        ({"partition_by": "nope"}, "none of the files has the column nope"),
        ({"delimiter": ";;"}, "the delimiter is ';;'"),
        ({"delimiter": ""}, "the delimiter is ''"),
        ({"quote": "\n"}, "the quote is"),
        ({"encoding": "klingon"}, "no encoding 'klingon'"),
        ({"format": "xml"}, "no format 'xml'"),
        ({"types": "absent.json"}, "no file absent.json"),
        ({"keyz": "id"}, "keys"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(options: dict[str, Any], said: str) -> None:
    put("a.csv", "id\n1\n")
    with pytest.raises(LakebedError, match=said) as refused:
        lakebed.ingest("in", "parquet:out", **options)
    assert refused.value.remedy
    assert not Path("out").exists()


def test_a_dry_run_touches_nothing() -> None:
    put("a.csv", "id\n1\n")
    before = sorted(Path().rglob("*"))
    done = lakebed.ingest("in", "duckdb:out.duckdb")
    assert done.loaded == 1
    shutil.rmtree(".lakebed")
    Path("out.duckdb").unlink()
    told = lakebed.ingest("in", "duckdb:out.duckdb", dry_run=True)
    assert (told.loaded, told.dry_run, told.plan is not None) == (1, True, True)
    assert sorted(Path().rglob("*")) == before


def test_history_names_and_files_are_in_the_ledger() -> None:
    put("a.csv", "Order ID,v\n1,x\n")
    lakebed.ingest("in", "parquet:out")
    changes = {one.change.column: one.change.original for one in lakebed.history("parquet:out").changes}
    assert changes["order_id"] == "Order ID"
    with Workspace.open({}).ledger() as ledger:
        [file] = ledger.files(Workspace.open({}).target("parquet:out").address)
        assert (file.state, file.rows) == ("loaded", 1)
        assert ledger.orphans() == ()


def test_gzip_with_several_members() -> None:
    Path("in/a.csv.gz").write_bytes(gzip.compress(b"id\n1\n") + gzip.compress(b"2\n"))
    assert lakebed.ingest("in", "parquet:out").loaded == 2


@pytest.mark.server
def test_files_of_a_bucket(s3_server: S3Server, s3_bucket: str) -> None:
    settings = s3_server.settings
    reach: dict[str, Any] = {
        name: getattr(settings, name) for name in ("endpoint_url", "region", "access_key_id", "secret_access_key")
    }
    storage = Workspace.open(reach).storage
    storage.put(f"{s3_bucket}/in/day=2026-11-01/a b.csv", b"id\n1\n")
    storage.put(f"{s3_bucket}/in/day=2026-11-02/b.json.gz", gzip.compress(b'{"id": 2}'))
    done = lakebed.ingest(f"{s3_bucket}/in/", "duckdb:out.duckdb", name="t", **reach)
    assert (done.loaded, done.types) == (2, {"id": "int32", "day": "date"})
    storage.put(f"{s3_bucket}/in/day=2026-11-01/a b.csv", b"id\n3\n")
    again = lakebed.ingest(f"{s3_bucket}/in/*/*.csv", "duckdb:out.duckdb", name="t", **reach)
    assert (again.loaded, again.removed, ids("duckdb:out.duckdb#t")) == (1, 1, [2, 3])


def known(path: str, identity: str) -> KnownFile:
    return KnownFile(SourceFile(path, path, "csv", "none", 1), identity, identity)


def test_identity_is_the_checksum_and_the_values_of_folders() -> None:
    assert identity_of("abc", ()) == "abc"
    assert len({identity_of("abc", (("d", one),)) for one in ("1", "2", None)} | {"abc"}) == 4


def test_a_crash_before_the_ledger_knew_leaves_both_contents_of_a_path() -> None:
    records = [FileRecord("p", "old", "old", 1, None, state="loaded"), FileRecord("p", "new", "new", 1, None)]
    decided = decide_files([known("p", "third")], {"old"}, records, keyed=False)
    assert (decided.removed, decided.files[0].action) == ({"old"}, "replace")
    decided = decide_files([known("p", "third")], {"new"}, records, keyed=False)
    assert decided.removed == {"new"}
    assert decide_files([known("p", "third")], {"new"}, records, keyed=True).removed == frozenset()
