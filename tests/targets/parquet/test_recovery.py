"""A commit that stopped half-way is finished: step by step, whatever was done of it already."""

from pathlib import Path

import pytest

from lakebed.errors import ConcurrentModification, TargetError
from lakebed.storage import Storage
from lakebed.targets.parquet.journal import CommitRecord, Delete, Journal, Put


class Stopped(Exception):
    pass


def stopped_at(step: str) -> object:
    def checkpoint(name: str) -> None:
        if name == step:
            raise Stopped(name)

    return checkpoint


def commit(dataset: Path, *, until: str | None = None) -> str:
    """Replaces `old` by `b` and rewrites `a`; stops where it is told to."""
    dataset.mkdir(exist_ok=True)
    (dataset / "a.parquet").write_bytes(b"before")
    (dataset / "old.parquet").write_bytes(b"leaving")
    journal = Journal(str(dataset), Storage(), **({"checkpoint": stopped_at(until)} if until else {}))  # type: ignore[arg-type]
    id_ = journal.begin()
    staged = Path(journal.staging(id_))
    (staged / "0").write_bytes(b"after")
    (staged / "1").write_bytes(b"new")
    puts = [Put("0", "a.parquet", 5), Put("1", "deep/b.parquet", 3)]
    try:
        journal.commit(id_, puts, [Delete("old.parquet", 7)], verify=lambda: None)
    except Stopped:
        assert until is not None
    return id_


def files(dataset: Path) -> dict[str, bytes]:
    return {str(path.relative_to(dataset)): path.read_bytes() for path in dataset.rglob("*") if path.is_file()}


def record(dataset: Path) -> CommitRecord:
    path = dataset.parent / f".{dataset.name}.txn" / "commit.json"
    return CommitRecord.from_bytes(path.read_bytes(), uri="u")


BEFORE = {"a.parquet": b"before", "old.parquet": b"leaving"}
AFTER = {"a.parquet": b"after", "deep/b.parquet": b"new"}
PENDING = ["recorded", "put a.parquet", "put deep/b.parquet", "replaced", "delete old.parquet", "deleted"]


@pytest.mark.parametrize("step", ["staged", "synced", "locked", "verified"])
def test_before_its_record_nothing_of_a_commit_counts(tmp_path: Path, step: str) -> None:
    commit(tmp_path / "t", until=step)
    Journal(str(tmp_path / "t"), Storage()).recover()
    assert files(tmp_path / "t") == BEFORE


@pytest.mark.parametrize("step", PENDING)
def test_from_its_record_on_a_commit_is_finished(tmp_path: Path, step: str) -> None:
    id_ = commit(tmp_path / "t", until=step)
    assert record(tmp_path / "t").state == "pending"
    journal = Journal(str(tmp_path / "t"), Storage())
    journal.abandon(id_)  # recovery needs what is staged: it stays
    journal.recover()
    assert files(tmp_path / "t") == AFTER
    assert record(tmp_path / "t") == CommitRecord(id_, "applied", committed_at=record(tmp_path / "t").committed_at)
    assert not (tmp_path / ".t.txn" / id_).exists()
    journal.recover()
    assert files(tmp_path / "t") == AFTER


@pytest.mark.parametrize("step", PENDING)
def test_the_next_commit_finishes_the_one_before_it(tmp_path: Path, step: str) -> None:
    first = commit(tmp_path / "t", until=step)
    journal = Journal(str(tmp_path / "t"), Storage())
    id_ = journal.begin()
    (Path(journal.staging(id_)) / "0").write_bytes(b"later")
    seen = {}
    journal.commit(id_, [Put("0", "c.parquet", 5)], [], verify=lambda: seen.update(files(tmp_path / "t")))
    assert seen == AFTER
    assert files(tmp_path / "t") == {**AFTER, "c.parquet": b"later"}
    assert (record(tmp_path / "t").id, record(tmp_path / "t").state) == (id_, "applied")
    assert not (tmp_path / ".t.txn" / first).exists()


def test_a_staged_file_that_is_gone_is_said_and_nothing_is_touched(tmp_path: Path) -> None:
    id_ = commit(tmp_path / "t", until="recorded")
    (tmp_path / ".t.txn" / id_ / "data" / "1").unlink()
    with pytest.raises(TargetError, match=r"deep/b\.parquet is neither staged nor in place"):
        Journal(str(tmp_path / "t"), Storage()).recover()
    assert files(tmp_path / "t") == BEFORE
    assert record(tmp_path / "t").state == "pending"


def test_a_staged_file_that_rotted_is_said_and_nothing_is_touched(tmp_path: Path) -> None:
    id_ = commit(tmp_path / "t", until="recorded")
    (tmp_path / ".t.txn" / id_ / "data" / "1").write_bytes(b"NEW")
    with pytest.raises(TargetError, match="is not what was committed"):
        Journal(str(tmp_path / "t"), Storage()).recover()
    assert files(tmp_path / "t") == BEFORE


def test_a_file_that_was_to_go_and_is_another_now_stays(tmp_path: Path) -> None:
    commit(tmp_path / "t", until="replaced")
    (tmp_path / "t" / "old.parquet").write_bytes(b"of another program")
    journal = Journal(str(tmp_path / "t"), Storage())
    with pytest.raises(TargetError, match=r"is another file now \(18 bytes instead of 7\)"):
        journal.recover()
    assert (tmp_path / "t" / "old.parquet").read_bytes() == b"of another program"
    (tmp_path / "t" / "old.parquet").rename(tmp_path / "elsewhere")
    journal.recover()
    assert files(tmp_path / "t") == AFTER
    assert record(tmp_path / "t").state == "applied"


def test_a_record_that_changed_since_it_was_read_is_a_conflict(tmp_path: Path) -> None:
    commit(tmp_path / "t")
    journal = Journal(str(tmp_path / "t"), Storage())
    id_ = journal.begin()
    (Path(journal.staging(id_)) / "0").write_bytes(b"mine")
    path = tmp_path / ".t.txn" / "commit.json"

    def other_writer() -> None:
        path.write_bytes(
            CommitRecord("20261001T120000-0123abcd", "applied", committed_at="2026-10-01").to_bytes(uri="u") + b"\n"
        )

    with pytest.raises(ConcurrentModification, match="another writer committed first"):
        journal.commit(id_, [Put("0", "a.parquet", 4)], [], verify=other_writer)
    assert files(tmp_path / "t") == AFTER


def test_folders_that_became_empty_go_and_others_stay(tmp_path: Path) -> None:
    dataset = tmp_path / "t"
    for name in ("p=1/q=1/a.parquet", "p=1/q=2/a.parquet", "p=2/q=1/a.parquet"):
        (dataset / name).parent.mkdir(parents=True, exist_ok=True)
        (dataset / name).write_bytes(b"x")
    journal = Journal(str(dataset), Storage())
    id_ = journal.begin()
    journal.commit(id_, [], [Delete("p=1/q=1/a.parquet", 1), Delete("p=2/q=1/a.parquet", 1)], verify=lambda: None)
    assert {str(path.relative_to(dataset)) for path in dataset.rglob("*")} == {"p=1", "p=1/q=2", "p=1/q=2/a.parquet"}
    id_ = journal.begin()
    journal.commit(id_, [], [Delete("p=1/q=2/a.parquet", 1)], verify=lambda: None)
    assert list(dataset.iterdir()) == []
