"""Schemas from elsewhere: each source gives the tables that it has."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import create_engine, text

import lakebed
from lakebed.errors import ConfigError, LakebedError, LineageError
from lakebed.lineage.imports import load_schema


def columns(schema: dict[str, object]) -> dict[str, list[str]]:
    tables = schema["tables"]
    assert isinstance(tables, list)
    return {
        ".".join(part for part in (table.get("catalog"), table.get("schema"), table["name"]) if part): [
            column["name"] for column in table["columns"]
        ]
        for table in tables
    }


def test_json_with_its_settings_and_an_exported_result(tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(json.dumps({"defaultSchema": "app", "tables": [{"schema": "app", "name": "t", "columns": ["a"]}]}))
    schema = load_schema([str(file)])
    assert schema["defaultSchema"] == "app"
    assert lakebed.analyze("SELECT * FROM t", schema=schema).statements[0].outputs == ("a",)
    whole = tmp_path / "result.json"
    whole.write_text(json.dumps(lakebed.analyze("CREATE TABLE x (b INT)").to_dict()))
    assert columns(load_schema([str(whole)])) == {"x": ["b"]}


def test_ddl_file(tmp_path: Path) -> None:
    file = tmp_path / "tables.sql"
    file.write_text("CREATE TABLE app.t (a INT, b TEXT); CREATE VIEW v AS SELECT a FROM app.t;")
    assert columns(load_schema([str(file)], dialect="postgres")) == {"app.t": ["a", "b"], "v": ["a"]}


def test_duckdb_file(tmp_path: Path) -> None:
    file = tmp_path / "costs.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE costs (account VARCHAR, amount DECIMAL(38, 18))")
        connection.execute("CREATE SCHEMA s")
        connection.execute("CREATE VIEW s.v AS SELECT amount FROM costs")
    assert columns(load_schema([f"duckdb:{file}"])) == {"costs": ["account", "amount"], "s.v": ["amount"]}
    assert columns(load_schema([f"duckdb:{file}#costs"])) == {"costs": ["account", "amount"]}
    schema = load_schema([f"duckdb:{file}"])
    assert lakebed.analyze("SELECT * FROM costs", schema=schema).statements[0].star_expansion == "full"


def test_parquet_folder_unifies_the_columns_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "costs"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "1.parquet")
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), folder / "2.parquet")
    assert columns(load_schema([f"parquet:{folder}"])) == {"costs": ["a", "b"]}
    assert columns(load_schema([f"parquet:{folder / '1.parquet'}"])) == {"1": ["a"]}


def test_iceberg_namespace_and_table(tmp_path: Path) -> None:
    from pyiceberg.catalog import load_catalog

    catalog = load_catalog(
        "lakebed", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalog.create_namespace("billing")
    catalog.create_table("billing.costs", pa.schema([("account", pa.string()), ("amount", pa.decimal128(38, 18))]))
    catalog.create_table("billing.other", pa.schema([("x", pa.int64())]))
    found = columns(load_schema(["iceberg:billing"], workdir=str(tmp_path)))
    assert found == {"billing.costs": ["account", "amount"], "billing.other": ["x"]}
    one = columns(load_schema(["iceberg:billing.costs"], workdir=str(tmp_path)))
    assert one == {"billing.costs": ["account", "amount"]}
    with pytest.raises(ConfigError, match="nothing"):
        load_schema(["iceberg:nothing"], workdir=str(tmp_path))
    catalog.engine.dispose()


def test_dbt_manifest_without_all_columns_stays_partial(tmp_path: Path) -> None:
    manifest = {
        "sources": {
            "source.p.raw.t": {
                "resource_type": "source",
                "name": "t",
                "identifier": "t_raw",
                "schema": "raw",
                "columns": {"id": {"name": "id", "data_type": "int"}},
            }
        },
        "nodes": {
            "model.p.m": {
                "resource_type": "model",
                "name": "m",
                "schema": "s",
                "columns": {"x": {"name": "x"}},
                "contract": {"enforced": True},
            },
            "test.p.t": {"resource_type": "test", "name": "t", "columns": {"y": {"name": "y"}}},
        },
    }
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(manifest))
    schema = load_schema([f"dbt:{file}"])
    assert columns(schema) == {"raw.t_raw": ["id"], "s.m": ["x"]}
    result = lakebed.analyze("SELECT * FROM raw.t_raw; SELECT * FROM s.m", schema=schema)
    assert [statement.star_expansion for statement in result.statements] == ["partial", "full"]


def test_several_sources_add_up(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE TABLE a (x INT)")
    (tmp_path / "b.json").write_text('{"tables": [{"name": "b", "columns": [{"name": "y"}]}]}')
    assert columns(load_schema([str(tmp_path / "a.sql"), str(tmp_path / "b.json")])) == {"a": ["x"], "b": ["y"]}


@pytest.mark.parametrize("address", ["nowhere.json", "duckdb:nowhere.duckdb", "parquet:nowhere", "dbt:nowhere.json"])
def test_what_is_not_there_is_refused_with_a_remedy(address: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        load_schema([address], workdir=str(tmp_path))
    assert refused.value.remedy


def test_broken_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(LineageError, match="not JSON"):
        load_schema([str(tmp_path / "x.json")])


def test_a_database_by_its_url_and_by_an_engine(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    url = f"sqlite:///{file}"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE orders (id INTEGER, amount DECIMAL(10, 2), note)"))
        connection.execute(text("CREATE VIEW totals AS SELECT sum(amount) AS total FROM orders"))
    schema = load_schema([url])
    assert columns(schema) == {"main.orders": ["id", "amount", "note"], "main.totals": ["total"]}
    assert schema["searchPath"] == [{"schema": "main"}]
    for given in (url, [url], engine):
        result = lakebed.analyze("SELECT * FROM orders; SELECT id FROM main.orders", dialect="sqlite", schema=given)
        assert [s.outputs for s in result.statements] == [("id", "amount", "note"), ("id",)]
        assert result.issues == ()
    kinds = {c.name: c.data_type for t in result.resolved_schema.tables if t.name == "orders" for c in t.columns}
    assert kinds["amount"] == "DECIMAL(10, 2)"
    assert columns(load_schema([f"{url}#main"])) == columns(schema)
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nosuch://user:hush@host/db", "nosuch"),
        ("sqlite:////no/such/folder/x.db", "cannot be read"),
        ("postgresql://user:hush@127.0.0.1:1/none", "postgresql"),
        ("://", "not there|no database URL"),
    ],
)
def test_a_database_that_cannot_be_read_is_refused_without_its_password(url: str, says: str) -> None:
    with pytest.raises(LakebedError, match=says) as refused:
        load_schema([url])
    assert "hush" not in str(refused.value)
    assert refused.value.remedy


def test_information_schema_as_csv(tmp_path: Path) -> None:
    file = tmp_path / "columns.csv"
    file.write_text(
        "TABLE_SCHEMA,TABLE_NAME,COLUMN_NAME,ORDINAL_POSITION,DATA_TYPE\n"
        'app,orders,"a, b",2,text\napp,orders,id,1,int\nother,t,x,1,\n'
    )
    schema = load_schema([str(file)])
    assert columns(schema) == {"app.orders": ["id", "a, b"], "other.t": ["x"]}
    file.write_text("name,type\nx,int\n")
    with pytest.raises(LineageError, match="table_name"):
        load_schema([str(file)])
    file.write_text("table_name,column_name\n,x\n")
    with pytest.raises(LineageError, match="line 2"):
        load_schema([str(file)])


def test_dbts_catalog_gives_types_by_itself_and_beside_a_manifest(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    node = {
        "metadata": {"database": "db", "schema": "s", "name": "m"},
        "columns": {"B": {"name": "B", "type": "text", "index": 2}, "A": {"name": "A", "type": "int", "index": 1}},
    }
    (target / "catalog.json").write_text(json.dumps({"nodes": {"model.p.m": node}, "sources": {}}))
    for address in (str(target / "catalog.json"), f"dbt:{target / 'catalog.json'}", f"dbt:{tmp_path}", f"dbt:{target}"):
        assert columns(load_schema([address])) == {"db.s.m": ["A", "B"]}, address
    model = {"resource_type": "model", "name": "m", "schema": "s", "columns": {"x": {"name": "x"}}}
    (target / "manifest.json").write_text(json.dumps({"nodes": {"model.p.m": model}}))
    assert columns(load_schema([f"dbt:{tmp_path}"])) == {"s.m": ["A", "B"]}


def test_what_has_no_catalog_is_refused() -> None:
    with pytest.raises(ConfigError, match="float"):
        load_schema([1.5])


def test_a_schema_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_schema([str(file)])
