"""Schemas from elsewhere: JSON, DDL, DuckDB, Parquet, Iceberg, Spark's catalog, dbt, and Lakebed's own tables.

Everything becomes the contract's `{"tables": [...]}`. What an address means:

    schema.json            the contract's JSON, or an exported resolvedSchema
    schema.sql             DDL: the tables that its CREATE statements declare
    duckdb:FILE            every table and view of a DuckDB file (`#TABLE` for one)
    parquet:FOLDER         one table, named after the folder or file
    iceberg:NS[.TABLE]     the tables of a namespace in the work directory's catalog
    spark: or spark:DB     the catalog of the Spark session
    dbt:manifest.json      sources, seeds and models of a dbt project
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lakebed.errors import ConfigError, LineageError
from lakebed.lineage.analyze import analyze

SchemaTable = dict[str, object]

KINDS = ("duckdb", "parquet", "iceberg", "spark", "dbt")


def load_schema(addresses: Iterable[str], *, dialect: str = "spark", workdir: str | None = None) -> dict[str, object]:
    """The imported schema that one or several addresses give; settings of a JSON file (search path, defaults) count."""
    merged: dict[str, object] = {}
    tables: list[SchemaTable] = []
    for address in addresses:
        found = _load(address, dialect, workdir)
        tables += _tables(found, address)
        merged |= {name: value for name, value in found.items() if name != "tables"}
    return {**merged, "tables": tables}


def _tables(schema: Mapping[str, object], address: str) -> list[SchemaTable]:
    tables = schema.get("tables", [])
    if not isinstance(tables, list):
        raise LineageError(f"{address}: tables is not a list", remedy='A schema is {"tables": [{"name": ...}]}.')
    return tables


def _load(address: str, dialect: str, workdir: str | None) -> Mapping[str, object]:
    kind, separator, place = address.partition(":")
    if separator and kind in KINDS:
        if kind == "duckdb":
            return {"tables": from_duckdb(place)}
        if kind == "parquet":
            return {"tables": [from_parquet(place)]}
        if kind == "iceberg":
            return {"tables": from_iceberg(place, workdir=workdir)}
        if kind == "spark":
            return {"tables": from_spark(place or None)}
        return {"tables": from_dbt_manifest(Path(place))}
    path = Path(address)
    if not path.exists():
        raise ConfigError(
            f"the schema {address} is not there",
            remedy=f"Give a .json or .sql file, or an address: {', '.join(f'{kind}:...' for kind in KINDS)}.",
        )
    text = path.read_text(encoding="utf-8")
    if path.suffix.lower() in (".sql", ".ddl"):
        return {"tables": from_ddl(text, dialect=dialect)}
    return from_json(text, address)


def from_json(text: str, where: str = "schema") -> Mapping[str, object]:
    """The contract's JSON; a whole analysis result counts by its `resolvedSchema`."""
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        raise LineageError(f"{where} is not JSON: {error}", remedy='A schema is {"tables": [...]}.') from error
    if isinstance(loaded, dict) and isinstance(loaded.get("resolvedSchema"), dict):
        loaded = loaded["resolvedSchema"]
    if isinstance(loaded, dict) and isinstance(loaded.get("nodes"), dict):
        return {"tables": _dbt_tables(loaded)}
    if not isinstance(loaded, dict):
        raise LineageError(f"{where} is not a JSON object", remedy='A schema is {"tables": [...]}.')
    return loaded


def from_ddl(sql: str, *, dialect: str = "spark") -> list[SchemaTable]:
    """The tables that a script declares."""
    return [dict(table.to_dict()) for table in analyze(sql, dialect=dialect).resolved_schema.tables]


def from_duckdb(place: str) -> list[SchemaTable]:
    """Tables and views of a DuckDB file, read without locking others out."""
    import duckdb

    file, _, wanted = place.partition("#")
    if not Path(file).exists():
        raise ConfigError(f"the DuckDB file {file} is not there", remedy="Check the path after duckdb:.")
    try:
        connection = duckdb.connect(file, read_only=True)
    except duckdb.Error as error:
        raise LineageError(f"{file} cannot be opened: {error}", remedy="Close what has it open for writing.") from error
    try:
        rows = connection.execute(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE NOT internal ORDER BY schema_name, table_name, column_index"
        ).fetchall()
    finally:
        connection.close()
    tables: dict[tuple[str, str], list[dict[str, str]]] = {}
    for schema, table, column, data_type in rows:
        if not wanted or table.lower() == wanted.rpartition(".")[2].lower():
            tables.setdefault((schema, table), []).append({"name": column, "dataType": data_type})
    return [
        # the schema `main` is where unqualified names are
        {**({"schema": schema} if schema != "main" else {}), "name": table, "columns": columns}
        for (schema, table), columns in tables.items()
    ]


def from_parquet(place: str) -> SchemaTable:
    """A Parquet file or folder as one table, named after it; a folder's files are unified by name."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    path = Path(place)
    if not path.exists():
        raise ConfigError(f"there is nothing at {place}", remedy="Check the path after parquet:.")
    try:
        dataset = ds.dataset(path, format="parquet", partitioning="hive")
        schemas = [dataset.schema]
        if path.is_dir():
            schemas += [fragment.physical_schema for fragment in dataset.get_fragments()]
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    except (pa.ArrowException, OSError) as error:
        raise LineageError(f"{place} cannot be read as Parquet: {error}", remedy="Check its files.") from error
    return _arrow_table(path.stem or place, schema)


def _arrow_table(name: str, schema: Iterable[object]) -> SchemaTable:
    columns = [{"name": field.name, "dataType": str(field.type)} for field in schema]  # type: ignore[attr-defined]
    return {"name": name, "columns": columns}


def from_iceberg(place: str, *, workdir: str | None = None) -> list[SchemaTable]:
    """The tables of a namespace, or one of them: `[CATALOG:]NAMESPACE[.TABLE]`."""
    from lakebed.config import load_settings
    from lakebed.targets.address import Address
    from lakebed.targets.registry import require_target

    require_target("iceberg", f"iceberg:{place}")
    from pyiceberg.exceptions import NoSuchNamespaceError

    from lakebed.targets.iceberg.catalog import CatalogSettings

    settings = load_settings({"workdir": workdir})
    address = Address.parse(f"iceberg:{place}")
    catalog_settings = CatalogSettings.choose(
        address.catalog, settings.catalog, workdir=settings.workdir_path, storage=settings.storage
    )
    parts = (*address.place.split("."), *([address.table] if address.table else ()))
    loaded = []
    if catalog_settings.exists:
        catalog = catalog_settings.open()
        with catalog_settings.translated_errors():
            try:
                names = catalog.list_tables(parts)
            except NoSuchNamespaceError:
                names = []
        for identifier in names or ([parts] if len(parts) > 1 else []):
            table = catalog_settings.load(catalog, identifier)
            if table is not None:
                loaded.append((identifier, table))
    if not loaded:
        raise ConfigError(
            f"there is no Iceberg table or namespace {place} in {catalog_settings.describe()}",
            remedy="Check its name, and the work directory.",
        )
    return [
        {
            "schema": ".".join(identifier[:-1]),
            "name": identifier[-1],
            "columns": [{"name": field.name, "dataType": str(field.field_type)} for field in table.schema().fields],
        }
        for identifier, table in loaded
    ]


def from_spark(database: str | None = None, *, session: object | None = None) -> list[SchemaTable]:
    """Tables and views of a Spark session's catalog, temporary views too; of the active one where none is given."""
    from lakebed.engines.registry import require_engine

    require_engine("spark", "the schema of a Spark session")
    from pyspark.sql import SparkSession

    spark: Any = session if session is not None else SparkSession.getActiveSession()
    if spark is None:
        raise LineageError(
            "there is no Spark session whose catalog could be read",
            remedy="Call lakebed.lineage.imports.from_spark(session=...) from the program that has one.",
        )
    current = spark.catalog.currentDatabase()
    tables: list[SchemaTable] = []
    for entry in spark.catalog.listTables(database or current):
        name = entry.name if entry.isTemporary else f"`{'`.`'.join([*(entry.namespace or []), entry.name])}`"
        columns = [
            {"name": field.name, "dataType": field.dataType.simpleString()} for field in spark.table(name).schema
        ]
        table: SchemaTable = {"name": entry.name, "columns": columns}
        namespace = ".".join(entry.namespace or [])
        if namespace and namespace != current:
            table["schema"] = namespace
        tables.append(table)
    return tables


def from_dbt_manifest(path: Path) -> list[SchemaTable]:
    """Sources, seeds, snapshots and models of a dbt manifest, with the columns that the project documents."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise ConfigError(f"{path} is not a dbt manifest: {error}", remedy="Run dbt parse or dbt compile.") from error
    return _dbt_tables(manifest)


def _dbt_tables(manifest: Mapping[str, object]) -> list[SchemaTable]:
    tables: list[SchemaTable] = []
    for group in ("sources", "nodes"):
        nodes = manifest.get(group)
        for node in (nodes if isinstance(nodes, dict) else {}).values():
            if node.get("resource_type") not in ("source", "seed", "snapshot", "model"):
                continue
            columns = [
                {"name": column["name"], **({"dataType": column["data_type"]} if column.get("data_type") else {})}
                for column in (node.get("columns") or {}).values()
            ]
            if columns:
                table: SchemaTable = {
                    "name": node.get("identifier") or node.get("alias") or node["name"],
                    "columns": columns,
                    # documented columns need not be all of them, except where a contract enforces them
                    "complete": bool((node.get("contract") or {}).get("enforced")),
                }
                table |= {k: v for k, v in (("schema", node.get("schema")), ("catalog", node.get("database"))) if v}
                tables.append(table)
    return tables
