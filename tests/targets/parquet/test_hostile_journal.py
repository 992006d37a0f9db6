"""A transaction folder that a stranger planted: nothing outside the dataset is read, written or removed for it."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.file_trees import everything

import lakebed
from lakebed.errors import LakebedError, TargetError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.state.ledger import Ledger
from lakebed.state.records import StagingFolder
from lakebed.storage import Storage
from lakebed.table.sweep import sweep_orphan
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.targets.shared.staging import StagingArea
from lakebed.testing.target import OCTOBER, Loader, contents, rows
from lakebed.workspace import Workspace

ID = "20261001T120000-0123abcd"
PUT = {"staged": "a.parquet", "final": "a.parquet", "size_bytes": 4, "checksum": "crc32:00000000"}
DELETE = {"path": "old.parquet", "size_bytes": 6}
PATHS = (
    "../victim.txt",
    "a/../../victim.txt",
    "/etc/passwd",
    "s3://bucket/a.parquet",
    "",
    ".",
    "a//b.parquet",
    "./a.parquet",
    "a/",
    "..\\victim.parquet",
    "a\0.parquet",
    "a\n.parquet",
    "x" * 5000,
    7,
    None,
    ["a"],
)


def record(**changes: object) -> dict[str, object]:
    return {"format": 1, "id": ID, "state": "pending", "puts": [PUT], "deletes": [], "committed_at": "", **changes}


HOSTILE = (
    *(record(id=path) for path in (*PATHS, "..", "20261001T120000-0123abcd/..", "20261001T120000-0123ABCD\n")),
    *(record(puts=[{**PUT, "staged": path}]) for path in PATHS),
    *(record(puts=[{**PUT, "final": path}]) for path in (*PATHS, "notes.txt", ".hidden/a.parquet")),
    *(record(puts=[{**PUT, "size_bytes": size}]) for size in (-1, 1.5, "4", True, None)),
    *(record(puts=[{**PUT, "checksum": text}]) for text in ("", "crc32:0", "etag:x", "crc32:00000000 ", 7)),
    *(record(deletes=[{**DELETE, "path": path}]) for path in (*PATHS, "notes.txt")),
    *(record(deletes=[{**DELETE, "size_bytes": size}]) for size in (-1, "6", False)),
    record(puts=[PUT, PUT]),
    record(deletes=[DELETE, DELETE]),
    record(deletes=[{"path": "a.parquet", "size_bytes": 4}]),
    record(puts="a"),
    record(puts=[{**PUT, "mode": "0777"}]),
    record(state="done"),
    record(committed_at=7),
    record(format=99),
    {},
)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset with a file, a stranger's transaction folder beside it, and a victim beside both."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim.txt").write_text("precious")
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "owner").write_text("precious")
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"id": [1]}), tmp_path / "t" / "one.parquet")
    (tmp_path / ".t.txn" / ID / "data").mkdir(parents=True)
    (tmp_path / ".t.txn" / ID / "data" / "a.parquet").write_bytes(b"evil")
    return tmp_path


def plant(lake: Path, text: str) -> Path:
    place = lake / ".t.txn" / "commit.json"
    place.write_text(text)
    return place


def read() -> object:
    return lakebed.read("parquet:t")


def write() -> object:
    return lakebed.merge(pa.table({"id": [2]}), "parquet:t", keys="id")


def write_open_target() -> object:
    return ParquetTarget("t").state()


ACTS: tuple[Callable[[], object], ...] = (read, write, write_open_target)


@pytest.mark.parametrize("planted", HOSTILE, ids=lambda planted: json.dumps(planted)[-60:])
def test_a_hostile_record_is_refused_by_name_and_changes_nothing(lake: Path, planted: dict[str, object]) -> None:
    place = plant(lake, json.dumps(planted))
    before = everything(lake)
    for act in ACTS:
        with pytest.raises(TargetError) as refused:
            act()
        assert str(place) in str(refused.value)
        assert "precious" not in str(refused.value)
        assert everything(lake) == before


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "NaN", "9" * 10_000, "\x00", '"x"', "null"])
def test_a_record_that_is_no_json_object_is_refused(lake: Path, text: str) -> None:
    plant(lake, text)
    before = everything(lake)
    for act in ACTS:
        with pytest.raises(TargetError, match=r"commit\.json is not a commit record"):
            act()
    assert everything(lake) == before


def link_folder(lake: Path) -> None:
    os.rename(lake / ".t.txn", lake / "elsewhere")
    (lake / ".t.txn").symlink_to(lake / "elsewhere")


def link_record(lake: Path) -> None:
    os.rename(lake / ".t.txn" / "commit.json", lake / "commit.json")
    (lake / ".t.txn" / "commit.json").symlink_to(lake / "commit.json")


def link_staging(lake: Path) -> None:
    os.rename(lake / ".t.txn" / ID, lake / "staging")
    (lake / ".t.txn" / ID).symlink_to(lake / "staging")


def link_staged_file(lake: Path) -> None:
    staged = lake / ".t.txn" / ID / "data" / "a.parquet"
    os.rename(staged, lake / "a.parquet")
    staged.symlink_to(lake / "a.parquet")


def link_old(lake: Path) -> None:
    (lake / ".t.txn" / ID / "old").symlink_to(lake / "precious")


def link_partition(lake: Path) -> None:
    (lake / "t" / "p=1").symlink_to(lake / "precious")


@pytest.mark.parametrize(
    "link",
    [link_folder, link_record, link_staging, link_staged_file, link_old, link_partition],
    ids=lambda f: f.__name__,
)
def test_a_link_on_the_way_is_refused_by_name_and_changes_nothing(lake: Path, link: Callable[[Path], None]) -> None:
    plant(lake, json.dumps(record(puts=[{**PUT, "final": "p=1/a.parquet"}])))
    link(lake)
    before = everything(lake)
    for act in ACTS:
        with pytest.raises(TargetError, match="is a link"):
            act()
        assert everything(lake) == before


@pytest.mark.parametrize("make", [lambda lock, to: lock.symlink_to(to), lambda lock, to: os.mkfifo(lock)])
def test_the_lock_is_a_plain_file_or_is_refused(lake: Path, make: Callable[[Path, Path], None]) -> None:
    make(lake / ".t.txn" / "lock", lake / "victim.txt")
    before = everything(lake / "t")
    with pytest.raises(TargetError, match=r"lock .* (cannot be opened|is not a plain file)"):
        write()
    assert (lake / "victim.txt").read_text() == "precious"
    assert everything(lake / "t") == before


def test_only_stagings_are_swept(lake: Path) -> None:
    """Folders that have an `owner` and are not ours stay, and so does what a link among stagings leads to."""
    folder = lake / ".t.txn"
    (folder / "photos").mkdir()
    (folder / "photos" / "owner").write_text("precious")
    (folder / "20261001T120000-0123abce").symlink_to(lake / "precious")
    (folder / ID / "owner").symlink_to(lake / "victim.txt")
    area = StagingArea(str(folder), Storage())
    area.remove(area.begin())
    assert (folder / "photos" / "owner").read_text() == "precious"
    assert (lake / "precious" / "owner").read_text() == "precious"
    assert (lake / "victim.txt").read_text() == "precious"
    for id_ in ("..", "photos", "", f"{ID}/../.."):
        with pytest.raises(TargetError, match="is not the id of a staging"):
            area.remove(id_)
        with pytest.raises(TargetError, match="is not the id of a staging"):
            area.folder(id_)


def test_the_folder_beside_a_duckdb_file_is_not_a_link(lake: Path) -> None:
    home = lake / "home" / ID
    home.mkdir(parents=True)
    (home / "owner").write_text("precious")
    (lake / ".d.duckdb.txn").symlink_to(lake / "home")
    with pytest.raises(TargetError, match="is a link"):
        lakebed.merge(pa.table({"id": [1]}), "duckdb:d.duckdb#t", keys="id")
    assert (home / "owner").read_text() == "precious"
    assert not DuckDBTarget(str(lake / "d.duckdb"), "t").state().exists


def interrupt(place: Path, step: str) -> None:
    """A commit that replaces two files and removes three, and that stops at a step."""
    loader = Loader(ParquetTarget(str(place)), StorageSettings(), ())
    prepared = loader.prepare(rows(OCTOBER, range(5)), rows_per_file=1)
    loader.target.commit(prepared.state, prepared.staging, prepared.change)

    def stop(name: str) -> None:
        if name.startswith(step):
            raise OSError("the power went off")

    target = ParquetTarget(str(place), checkpoint=stop)
    prepared = Loader(target, StorageSettings(), ()).prepare(rows(OCTOBER, [7, 8]), replacing=OCTOBER, rows_per_file=1)
    with pytest.raises(OSError, match="power"):
        target.commit(prepared.state, prepared.staging, prepared.change)


@pytest.mark.parametrize("step", ["recorded", "put", "replaced", "delete", "deleted"])
def test_readers_see_what_a_pending_record_describes_and_write_nothing(tmp_path: Path, step: str) -> None:
    place = tmp_path / "t"
    interrupt(place, step)
    before = everything(tmp_path)
    address = f"parquet:{place}"
    assert sorted(lakebed.read(address).to_table()["id"].to_pylist()) == [7, 8]
    assert lakebed.evolve(address, "id bigint, tag string", dry_run=True).added_columns == ("tag",)
    planned = lakebed.merge(pa.table({"id": [8, 9]}), address, keys="id", dry_run=True)
    assert (planned.before, planned.inserted, planned.updated) == (2, 1, 1)
    with pytest.raises(LakebedError, match="nothing is known"):
        lakebed.history(f"parquet:{tmp_path}/none", workdir=tmp_path / "work")
    assert lakebed.history(address, workdir=tmp_path / "work").changes == ()
    assert lakebed.sweep(workdir=tmp_path / "work", dry_run=True).folders == ()
    reader = ParquetTarget(str(place), read_only=True)
    assert reader.totals(OCTOBER, ["id"]).sums == {"id": 15}
    assert contents(reader) == rows(OCTOBER, [7, 8])
    assert everything(tmp_path) == before
    # Whoever writes finishes it, and the table is what readers saw.
    assert contents(ParquetTarget(str(place))) == rows(OCTOBER, [7, 8])
    assert everything(tmp_path) != before


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda staged, data: staged.write_bytes(data[:-1]), "is not what was committed"),
        (lambda staged, data: staged.unlink(), "neither staged nor in place"),
    ],
)
def test_readers_name_the_damage_of_a_pending_record(
    tmp_path: Path, damage: Callable[[Path, bytes], object], message: str
) -> None:
    loader = Loader(ParquetTarget(str(tmp_path / "t"), checkpoint=_stop_when_recorded), StorageSettings(), ())
    prepared = loader.prepare(rows(OCTOBER, [1]))
    with pytest.raises(OSError, match="power"):
        loader.target.commit(prepared.state, prepared.staging, prepared.change)
    staged = Path(prepared.staging.folder) / prepared.change.add[0].path
    damage(staged, staged.read_bytes())
    with pytest.raises(TargetError, match=message):
        ParquetTarget(str(tmp_path / "t"), read_only=True).state()


def _stop_when_recorded(name: str) -> None:
    if name == "recorded":
        raise OSError("the power went off")


def test_a_file_in_place_of_one_that_leaves_is_named(tmp_path: Path) -> None:
    interrupt(tmp_path / "t", "replaced")
    leaving = json.loads((tmp_path / ".t.txn" / "commit.json").read_text())["deletes"][0]["path"]
    (tmp_path / "t" / leaving).write_bytes(b"another")
    with pytest.raises(TargetError, match="is another file now"):
        ParquetTarget(str(tmp_path / "t"), read_only=True).state()


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"format": 1}', '{"format": 1, "schemas": ["x"], "files": []}', "[" * 99999]
)
def test_a_planted_footer_cache_is_not_believed(lake: Path, content: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.targets.parquet.state.CACHE_FROM", 1)
    (lake / ".t.txn" / "footers.json").write_text(content)
    assert lakebed.read("parquet:t").to_table()["id"].to_pylist() == [1]


def test_a_planted_ledger_makes_nobody_remove_foreign_files(lake: Path) -> None:
    """The folders of crashed runs are in the ledger; only those that can be a staging of their table are swept."""
    (lake / ".t.txn" / ID / "owner").write_text("")
    workspace = Workspace.open({"workdir": str(lake / "work")})
    inside = lake / ".t.txn" / ID / "data"
    foreign = (lake / "precious", lake / "t", lake / ".t.txn", inside / ".." / "..", lake / "data" / "lakebed-1")
    with workspace.ledger() as ledger:
        for address in ("parquet:t", "duckdb:d.duckdb#t", "iceberg:ns.t"):
            target = workspace.target(address)
            for folder in foreign:
                before = everything(lake)
                sweep_orphan(StagingFolder(str(folder), target.address, datetime.now(UTC)), target, ledger, Storage())
                assert everything(lake) == before


def test_links_in_the_folder_of_a_crashed_run_are_refused(lake: Path) -> None:
    target = ParquetTarget("t")
    staging = lake / ".t.txn" / ID / "data"
    (staging / "inner").symlink_to(lake / "precious")
    orphan = StagingFolder(str(staging), target.address, datetime.now(UTC))
    with Ledger.open(lake / "ledger.db") as ledger, pytest.raises(TargetError, match="is a link"):
        sweep_orphan(orphan, target, ledger, Storage())
    assert (lake / "precious" / "owner").read_text() == "precious"
