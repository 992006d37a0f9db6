"""`lakebed.evolve`, history, rollback and expiry, from Python and from the command line."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of
from typer.testing import CliRunner, Result

import lakebed
from lakebed.cli import build
from lakebed.errors import ConfigError, NotFound, SchemaError, SchemaIncompatible
from lakebed.schema.types import Text
from lakebed.storage import local_path
from lakebed.table.evolve import SchemaLike, read_schema
from lakebed.table.history import history, rollback
from lakebed.table.sweep import sweep

ADDRESS = "iceberg:billing.costs"


def lakebed_command(*arguments: str) -> Result:
    return CliRunner().invoke(build(list(arguments)), list(arguments))


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("address", [ADDRESS, "duckdb:costs.duckdb#costs", "parquet:costs"])
def test_every_target_evolves_and_keeps_its_rows(address: str, tmp_path: Path) -> None:
    created = lakebed.evolve(address, {"id": "int", "name": "text"}, workdir=tmp_path)
    assert created.creates
    planned = lakebed.evolve(address, {"ID": "bigint", "late": "timestamp_ntz"}, dry_run=True, workdir=tmp_path)
    assert [".".join(add.path) for add in planned.adds] == ["late"]
    assert lakebed.evolve(address, {"id": "int"}, dry_run=True, workdir=tmp_path).adds == (), "nothing was touched"
    lakebed.evolve(address, {"ID": "bigint", "late": "timestamp_ntz"}, workdir=tmp_path)
    again = lakebed.evolve(address, {"ID": "bigint", "late": "timestamp_ntz"}, dry_run=True, workdir=tmp_path)
    assert not again.changes_schema
    assert [column.name for column in again.final] == ["id", "name", "late"]
    changes = [(one.change.kind, one.change.column) for one in history(address, workdir=tmp_path).changes]
    assert changes == [("created", "id"), ("created", "name"), ("added", "late"), ("widened", "id")]


def test_a_schema_can_be_given_in_many_ways(tmp_path: Path) -> None:
    expected = ["id int64", "cost decimal(38,18)"]
    Path("s.json").write_text('{"id": "BIGINT", "cost": "DECIMAL(38,18)"}')
    Path("list.json").write_text(
        '{"columns": [{"name": "id", "type": "long"}, {"name": "cost", "type": "decimal(38,18)"}]}'
    )
    pq.write_table(pa.table({"id": pa.array([1]), "cost": pa.array([Decimal(1)], pa.decimal128(38, 18))}), "s.parquet")
    Path("s.sql").write_text("id bigint,\n cost decimal(38,18)")
    for given in ("s.json", "list.json", "s.parquet", "s.sql", "id bigint, cost decimal(38, 18)"):
        assert [str(column) for column in read_schema(given)] == expected, given
    with pytest.raises(ConfigError, match=r"missing\.json"):
        read_schema("missing.json")
    Path("broken.json").write_text("{\n 'a'")
    with pytest.raises(ConfigError, match="line 2"):
        read_schema("broken.json")


def test_a_conflict_is_refused_or_gets_a_column_of_its_own(tmp_path: Path) -> None:
    load(open_table(tmp_path), pa.table({"cost": pa.array([Decimal("1.25")], pa.decimal128(18, 2))}))
    with pytest.raises(SchemaIncompatible):
        lakebed.evolve(ADDRESS, {"cost": "decimal(18,4)"}, workdir=tmp_path)
    plan = lakebed.evolve(ADDRESS, {"cost": "decimal(18,4)"}, workdir=tmp_path, on_conflict="variant")
    (conflict,) = plan.conflicts
    assert rows_of(open_table(tmp_path)) == [{"cost": Decimal("1.25"), conflict.variant: None}]


def test_the_command_plans_applies_and_looks_back(tmp_path: Path) -> None:
    load(open_table(tmp_path), pa.table({"id": pa.array([1], pa.int32())}), OCTOBER, properties={"delivery": "d1"})
    dry = lakebed_command(
        "evolve", ADDRESS, "--schema", "id bigint, tag string", "--dry-run", "--json", "--workdir", "."
    )
    assert dry.exit_code == 0, dry.output
    assert [add["path"] for add in json.loads(dry.stdout)["adds"]] == [["tag"]]
    assert "tag" not in open_table(tmp_path).state().schema
    done = lakebed_command("evolve", ADDRESS, "--schema", "id bigint, tag string", "--workdir", ".")
    assert "add     tag text" in done.stdout
    assert "widen   id from int32 to int64" in done.stdout
    shown = json.loads(lakebed_command("history", ADDRESS, "--json", "--workdir", ".").stdout)
    assert [(one["kind"], one["column"]) for one in shown["changes"]] == [("added", "tag"), ("widened", "id")]
    assert [one.get("delivery") for one in shown["snapshots"]] == ["d1", None]
    assert shown["snapshots"][1]["addedColumns"] == ["tag"]
    drawn = lakebed_command("history", ADDRESS, "--workdir", ".")
    assert "+ tag" in drawn.stdout
    assert str(shown["snapshots"][0]["snapshot"]) in drawn.stdout, "whole, because rollback takes it"
    refused = lakebed_command("evolve", ADDRESS, "--schema", "id string", "--workdir", ".", "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["error"]["type"] == "SchemaIncompatible"
    assert lakebed_command("evolve", ADDRESS, "--schema", "nothing.json", "--workdir", ".").exit_code == 2


def test_rolling_back_keeps_the_wide_schema_and_tells_the_ledger(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"id": ["a"]}), OCTOBER)
    first = target.existing_table().current_snapshot().snapshot_id
    load(target, pa.table({"id": ["b"], "tag": ["x"]}), NOVEMBER)
    record = rollback(ADDRESS, first, workdir=tmp_path)
    assert record.current
    assert [(row["id"], row["tag"]) for row in rows_of(target)] == [("a", None)]
    load(target, pa.table({"id": ["c"], "tag": ["y"]}), NOVEMBER)
    assert [(row["id"], row["tag"]) for row in rows_of(target)] == [("a", None), ("c", "y")]
    with pytest.raises(NotFound, match="12345"):
        rollback(ADDRESS, 12345, workdir=tmp_path)
    assert lakebed_command("rollback", ADDRESS, str(first), "--workdir", ".").exit_code == 0
    with pytest.raises(ConfigError, match="no snapshots"):
        rollback("parquet:x", first, workdir=tmp_path)


def test_expired_snapshots_take_only_the_files_that_no_other_names(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    for cost in ("old", "newer", "newest"):
        load(target, pa.table({"id": [cost]}), OCTOBER, partition_by=["lakebed_period"])
    load(target, pa.table({"id": ["n"]}), NOVEMBER)
    before = rows_of(target)
    planned = sweep(ADDRESS, workdir=tmp_path, expire_days=0, dry_run=True)
    assert len(target.existing_table().snapshots()) == 4
    swept = sweep(ADDRESS, workdir=tmp_path, expire_days=0)
    assert swept.expired == planned.expired
    assert len(swept.expired.snapshots) == 3
    assert len([uri for uri in swept.expired.files if uri.endswith(".parquet")]) == 2
    assert not any(local_path(uri).exists() for uri in swept.expired.files)
    assert rows_of(target) == before
    assert len(target.existing_table().snapshots()) == 1
    load(target, pa.table({"id": ["again"]}), OCTOBER)
    assert [row["id"] for row in rows_of(target)] == ["again", "n"]
    kept = sweep(ADDRESS, workdir=tmp_path, expire_days=1)
    assert kept.expired.snapshots == (), f"nothing is older than {datetime.now(UTC) - timedelta(days=1)}"
    shown = json.loads(lakebed_command("sweep", ADDRESS, "--expire-days", "0", "--json", "--workdir", ".").stdout)
    assert len(shown["expiredSnapshots"]) == 1


def test_doctor_prints_how_a_users_own_spark_opens_the_tables(tmp_path: Path) -> None:
    shown = json.loads(lakebed_command("doctor", "--spark-conf", "--json", "--workdir", ".").stdout)
    assert shown["spark.sql.catalog.lakebed.uri"] == f"jdbc:sqlite:{tmp_path}/catalog.db"
    assert shown["spark.sql.catalog.lakebed.jdbc.schema-version"] == "V1"
    assert (
        "spark.sql.extensions org.apache.iceberg" in lakebed_command("doctor", "--spark-conf", "--workdir", ".").stdout
    )


@pytest.mark.parametrize(
    "given",
    [
        {"id": "bigint", "place": "geography"},
        "id bigint, place geography",
        "id bigint, `place` geography(4326)",
        pa.schema([("id", pa.int64()), ("place", pa.duration("s"))]),
    ],
    ids=["names and types", "DDL", "DDL with parameters", "Arrow"],
)
def test_a_type_that_nobody_knows_becomes_text_and_a_warning_says_so(
    given: SchemaLike, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = lakebed.evolve(f"parquet:{tmp_path / 't'}", given, workdir=tmp_path)
    assert plan.final["place"].type == Text()
    assert "column place: the type" in caplog.text
    assert "becomes text" in caplog.text


def test_a_forgotten_comma_is_no_type(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="not supported"):
        lakebed.evolve(f"parquet:{tmp_path / 't'}", "id bigint place string", workdir=tmp_path)
