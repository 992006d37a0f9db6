"""Branches: written and looked at beside the table, then published; tags are left alone."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import lakebed
from lakebed.cli import build
from lakebed.errors import ConcurrentModification, ConfigError, NotFound, TargetError
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.workspace import Workspace

TABLE = "iceberg:ns.costs"
AUDIT = f"{TABLE}@audit"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def merge(address: str, *ids: int, **columns: list[object]) -> lakebed.MergeResult:
    return lakebed.merge(pa.table({"id": list(ids), **columns}), address, keys="id", engine="arrow")


def ids(address: str) -> list[int]:
    found = lakebed.read(address)
    table = found if isinstance(found, pa.Table) else found.to_table()
    return sorted(table["id"].to_pylist())


def opened(address: str = TABLE) -> IcebergTarget:
    target = Workspace.open().target(address)
    assert isinstance(target, IcebergTarget)
    return target


def test_what_is_written_to_a_branch_is_seen_there_alone_until_it_is_published() -> None:
    merge(TABLE, 1)
    done = merge(AUDIT, 2, 3, tag=["x", "y"])
    assert (done.before, done.total, done.added_columns) == (1, 3, ("tag",))
    assert (ids(TABLE), ids(AUDIT)) == ([1], [1, 2, 3])
    assert opened(AUDIT).address == AUDIT
    assert opened(AUDIT).state().rows == 3
    table = opened().existing_table()
    assert sorted(table.metadata.refs) == ["audit", "main"]
    assert len(table.snapshots()) == 2, "the branch and its rows are one commit"

    planned = lakebed.publish(AUDIT, dry_run=True)
    assert (planned.commits, planned.rows, ids(TABLE)) == (1, 3, [1])
    published = lakebed.publish(AUDIT)
    assert published == lakebed.Publication("audit", published.snapshot, published.before, 1, 3, False, False)
    assert (ids(TABLE), ids(AUDIT)) == ([1, 2, 3], [1, 2, 3])
    assert lakebed.publish(AUDIT).commits == 0, "publishing again changes nothing"


def test_a_branch_goes_on_from_where_it_is() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    merge(TABLE, 10)
    merge(AUDIT, 1, 3)
    assert (ids(TABLE), ids(AUDIT)) == ([1, 10], [1, 2, 3])


def test_publishing_undoes_nothing_that_came_after_the_branch_was_made() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    merge(TABLE, 10)
    with pytest.raises(ConcurrentModification, match="changed after the branch audit was made"):
        lakebed.publish(AUDIT)
    assert ids(TABLE) == [1, 10]


def test_a_published_branch_can_be_dropped_and_made_again() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    assert lakebed.publish(AUDIT, drop_branch=True).dropped_branch
    with pytest.raises(NotFound, match="no branch or tag audit"):
        lakebed.read(AUDIT)
    merge(TABLE, 3)
    merge(AUDIT, 4)
    assert ids(AUDIT) == [1, 2, 3, 4]


def test_a_branch_begins_with_rows_of_the_table() -> None:
    with pytest.raises(TargetError, match=r"ns\.costs has no rows yet(.|\n)*without @audit"):
        merge(AUDIT, 1)
    with pytest.raises(NotFound):
        lakebed.read(TABLE)


def test_a_branch_is_rolled_back_by_itself() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    merge(AUDIT, 3)
    before = lakebed.history(AUDIT).snapshots[-2]
    assert lakebed.rollback(AUDIT, before.id).rows == 2
    assert (ids(TABLE), ids(AUDIT)) == ([1], [1, 2])


def test_the_columns_of_a_table_are_those_of_its_branches() -> None:
    merge(TABLE, 1)
    lakebed.evolve(AUDIT, {"id": "bigint", "tag": "string"})
    assert "tag" in opened().state().schema
    assert lakebed.read(TABLE).schema.names == ["id", "tag"]


def test_a_tag_is_read_and_never_written() -> None:
    merge(TABLE, 1)
    table = opened().existing_table()
    table.manage_snapshots().create_tag(table.metadata.current_snapshot_id, "closed").commit()
    merge(TABLE, 2)
    tagged = f"{TABLE}@closed"
    assert ids(tagged) == [1]
    for act in (
        lambda: merge(tagged, 3),
        lambda: lakebed.evolve(tagged, {"x": "int"}),
        lambda: lakebed.rollback(tagged, table.metadata.current_snapshot_id),
        lambda: lakebed.publish(tagged),
    ):
        with pytest.raises(TargetError, match=r"closed is a tag of ns\.costs"):
            act()
    assert (ids(tagged), ids(TABLE)) == ([1], [1, 2])
    assert sorted(opened().existing_table().metadata.refs) == ["closed", "main"]
    swept = lakebed.sweep(TABLE, expire_days=0)
    assert swept.expired.snapshots == ()
    assert ids(tagged) == [1]


def test_history_names_branches_and_tags() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    first, second = lakebed.history(TABLE).snapshots
    assert (first.refs, second.refs, first.current, second.current) == (("main",), ("audit",), True, False)
    assert [one.current for one in lakebed.history(AUDIT).snapshots] == [False, True]
    said = CliRunner().invoke(build(["history"]), ["history", TABLE]).stdout
    assert "[audit]" in said


def test_main_is_the_table_itself() -> None:
    merge(f"{TABLE}@main", 1)
    assert opened(f"{TABLE}@main").address == TABLE
    assert ids(TABLE) == ids(f"{TABLE}@main") == [1]
    with pytest.raises(ConfigError, match="names no branch"):
        lakebed.publish(f"{TABLE}@main")


def test_only_branches_are_published() -> None:
    merge("parquet:costs", 1)
    for address in ("parquet:costs", TABLE):
        with pytest.raises(ConfigError, match="names no branch to publish"):
            lakebed.publish(address)
    merge(TABLE, 1)
    with pytest.raises(NotFound, match=r"no branch or tag audit(.|\n)*It has: main"):
        lakebed.publish(AUDIT)


def test_the_command_says_what_was_published() -> None:
    merge(TABLE, 1)
    merge(AUDIT, 2)
    said = CliRunner().invoke(build(["publish"]), ["publish", AUDIT, "--dry-run"])
    assert "audit would be published: 1 commits" in said.stdout
    printed = CliRunner().invoke(build(["publish"]), ["publish", AUDIT, "--drop-branch", "--json"])
    told = json.loads(printed.stdout)
    assert (told["branch"], told["commits"], told["rows"], told["droppedBranch"]) == ("audit", 1, 2, True)
    refused = CliRunner().invoke(build(["publish"]), ["publish", AUDIT])
    assert refused.exit_code == 1


def test_settling_a_branch_leaves_the_table_as_it_is() -> None:
    merge(TABLE, 1, 2)
    merge(AUDIT, 3)
    table = opened().existing_table()
    with table.update_schema() as update:
        update.rename_column("id", "key")
    lakebed.merge(pa.table({"key": [4]}), AUDIT, keys="key", engine="arrow")
    rows = lakebed.read(TABLE)
    assert sorted((rows if isinstance(rows, pa.Table) else rows.to_table())["key"].to_pylist()) == [1, 2]
    audit = lakebed.read(AUDIT)
    assert sorted((audit if isinstance(audit, pa.Table) else audit.to_table())["key"].to_pylist()) == [1, 2, 3, 4]
