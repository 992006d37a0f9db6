"""Iceberg's own Spark runtime reads and changes our tables, and we read and load into what it left."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.iceberg_runtime import by_runtime
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of
from tests.support.s3_server import S3Server

from lakebed.errors import ConcurrentModification
from lakebed.targets.iceberg.target import IcebergTarget

pytestmark = [pytest.mark.spark, pytest.mark.full]


def costs(*pairs: tuple[str, str], **more: list[object]) -> pa.Table:
    table = pa.table({"id": [name for name, _ in pairs], "cost": [Decimal(cost) for _, cost in pairs]})
    table = table.set_column(1, "cost", table["cost"].cast(pa.decimal128(38, 18)))
    for name, values in more.items():
        table = table.append_column(name, pa.array(values))
    return table


def story(target: IcebergTarget, **environment: str) -> None:
    load(target, costs(("a", "1.25"), ("b", "2.5")), OCTOBER, partition_by=["lakebed_period"])
    load(target, costs(("n", "5"), tag=["late"]), NOVEMBER, properties={"run": "r7"})
    name = f"lakebed.{target.name}"
    sums = f"SELECT count(*) AS n, sum(cost) AS total, count(tag) AS tags FROM {name}"
    before, properties, _, _, merged, rows = by_runtime(
        target,
        [
            sums,
            f"SELECT summary['lakebed.run'] AS run FROM {name}.snapshots ORDER BY committed_at DESC LIMIT 1",
            f"ALTER TABLE {name} SET TBLPROPERTIES ('write.merge.mode'='merge-on-read')",
            f"MERGE INTO {name} t USING (SELECT 'a' AS id, CAST(7 AS DECIMAL(38,18)) AS cost) s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET t.cost = s.cost",
            sums,
            f"SELECT id, lakebed_period FROM {name} ORDER BY id",
        ],
        **environment,
    )
    assert [(row["n"], Decimal(str(row["total"])), row["tags"]) for row in before] == [(3, Decimal("8.75"), 1)]
    assert properties == [{"run": "r7"}]
    assert Decimal(str(merged[0]["total"])) == Decimal("14.5")
    assert [row["id"] for row in rows] == ["a", "b", "n"]
    assert target.totals(None, ["cost"]).sums["cost"] == Decimal("14.5"), "we see its deletes"
    # Our next load: what it deleted beside our files is folded in first, then the month is replaced.
    with pytest.raises(ConcurrentModification, match="rewritten"):
        load(target, costs(("a", "3"), ("c", "1")), OCTOBER)
    assert target.totals(None, ["cost"]).sums["cost"] == Decimal("14.5")
    load(target, costs(("a", "3"), ("c", "1")), OCTOBER)
    assert [row["id"] for row in rows_of(target)] == ["a", "c", "n"]
    (after,) = by_runtime(target, [sums], **environment)
    assert [(row["n"], Decimal(str(row["total"])), row["tags"]) for row in after] == [(3, Decimal("9"), 1)]


def test_on_the_sqlite_catalog(tmp_path: Path) -> None:
    story(open_table(tmp_path))


@pytest.mark.server
def test_on_rest_over_s3(tmp_path: Path, s3_server: S3Server) -> None:
    target = open_table(tmp_path, "runtime.costs", storage=s3_server.settings, **s3_server.catalog_properties)
    keys = {"AWS_ACCESS_KEY_ID": s3_server.access_key, "AWS_SECRET_ACCESS_KEY": s3_server.secret_key}
    story(target, AWS_REGION=s3_server.region, **keys)
