"""The Iceberg target on a SQLite catalog: one commit, one snapshot, no column lost."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of


def costs(*pairs: tuple[str, str], **more: list[object]) -> pa.Table:
    amounts = pa.array([Decimal(amount) for _, amount in pairs], pa.decimal128(38, 18))
    table = pa.table({"id": [name for name, _ in pairs], "cost": amounts})
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return table


def test_a_new_table_and_its_rows_are_one_commit(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    assert target.state().exists is False
    assert not (tmp_path / "catalog.db").exists(), "looking creates nothing"
    commit = load(target, costs(("a", "1.5"), ("b", "2.25")), OCTOBER, partition_by=["lakebed_period"])
    table = target.existing_table()
    assert (commit.rows, commit.files_added) == (2, 1)
    assert len(table.metadata.metadata_log) == 0, "one commit made it"
    assert [str(snapshot.summary.operation.value) for snapshot in table.snapshots()] == ["append"]
    assert target.state().partition_by == ("lakebed_period",)
    totals = target.totals(OCTOBER, ["cost"])
    assert (totals.rows, totals.sums["cost"]) == (2, Decimal("3.75"))


def test_schema_removal_and_arrival_are_one_snapshot(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, costs(("a", "1")), OCTOBER, partition_by=["lakebed_period"])
    load(target, costs(("n", "5")), NOVEMBER)
    before = target.existing_table()
    load(target, costs(("a", "2"), tag=["x"]), OCTOBER, properties={"run-id": "r1", "delivery": "d2"})
    after = target.existing_table()
    assert len(after.snapshots()) == len(before.snapshots()) + 1
    assert len(after.metadata.metadata_log) == len(before.metadata.metadata_log) + 1
    summary = after.current_snapshot().summary
    assert summary.operation.value == "overwrite"
    assert summary["lakebed.run-id"] == "r1"
    assert summary["lakebed.delivery"] == "d2"
    assert len(summary["lakebed.plan-hash"]) == 64
    assert [(row["id"], row["cost"], row["tag"]) for row in rows_of(target)] == [
        ("a", Decimal("2.000000000000000000"), "x"),
        ("n", Decimal("5.000000000000000000"), None),
    ]
