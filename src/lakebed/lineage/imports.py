"""Schemas from elsewhere: JSON, DDL, DuckDB, Parquet, Iceberg, Spark's catalog, dbt, and Lakebed's own tables.

Everything becomes the contract's `{"tables": [...]}`. What an address means:

    schema.json            the contract's JSON, or an exported resolvedSchema
    schema.sql             DDL: the tables that its CREATE statements declare
    duckdb:FILE            every table and view of a DuckDB file (`#TABLE` for one)
    parquet:FOLDER         one table, named after the folder or file
    iceberg:NS[.TABLE]     the tables of a namespace in the work directory's catalog
    spark or spark:DB      the catalog of a Spark session: the active one, else one that the settings describe
    dbt:PLACE              sources, seeds and models of a dbt project: its folder, manifest.json or catalog.json
    columns.csv            information_schema.columns, as any database exports it
    postgresql://...       every table of a database, through SQLAlchemy (`#SCHEMA` for one schema)

In Python a Spark session and an SQLAlchemy engine can be given as they are.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from lakebed.errors import ConfigError, LineageError
from lakebed.lineage.analyze import Analyzer, Script
from lakebed.lineage.database_schema import is_database_url, read_database
from lakebed.lineage.dbt_artifacts import (
    DbtNode,
    SchemaTable,
    catalog_columns,
    catalog_tables,
    dbt_tables,
    read_artifact,
)

KINDS = ("duckdb", "parquet", "iceberg", "spark", "dbt")


def load_schema(
    addresses: Iterable[object], *, dialect: str = "spark", workdir: str | None = None
) -> dict[str, object]:
    """The imported schema that one or several addresses give; settings of a JSON file (search path, defaults) count."""
    merged: dict[str, object] = {}
    tables: list[SchemaTable] = []
    paths: list[object] = []
    for address in addresses:
        found = _load(address, dialect, workdir)
        tables += _tables(found, str(address))
        merged |= {name: value for name, value in found.items() if name != "tables"}
        search = found.get("searchPath")
        paths += [one for one in (search if isinstance(search, list | tuple) else ()) if one not in paths]
    return {**merged, **({"searchPath": paths} if paths else {}), "tables": tables}


def _tables(schema: Mapping[str, object], address: str) -> list[SchemaTable]:
    tables = schema.get("tables", [])
    if not isinstance(tables, list):
        raise LineageError(f"{address}: tables is not a list", remedy='A schema is {"tables": [{"name": ...}]}.')
    return tables


def _load(source: object, dialect: str, workdir: str | None) -> Mapping[str, object]:
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str | Path):
        return _from_object(source)
    address = str(source)
    if is_database_url(address):
        return read_database(address)
    kind, separator, place = address.partition(":")
    if address == "spark":
        separator = ":"
    if separator and kind in KINDS:
        if kind == "duckdb":
            return {"tables": from_duckdb(place)}
        if kind == "parquet":
            return {"tables": [from_parquet(place)]}
        if kind == "iceberg":
            return {"tables": from_iceberg(place, workdir=workdir)}
        if kind == "spark":
            return {"tables": from_spark(place or None, workdir=workdir)}
        return {"tables": from_dbt(Path(place))}
    path = Path(address)
    if not path.is_file():
        raise ConfigError(
            f"the schema {address} is not there",
            remedy="Give a .json, .sql or .csv file, a database's URL, or an address: "
            f"{', '.join(f'{kind}:...' for kind in KINDS)}.",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"the schema {address} is not text in UTF-8", remedy="Convert it to UTF-8.") from error
    if path.suffix.lower() in (".sql", ".ddl"):
        return {"tables": from_ddl(text, dialect=dialect)}
    if path.suffix.lower() == ".csv":
        return {"tables": from_information_schema(text, address)}
    return from_json(text, address)


def _from_object(source: object) -> Mapping[str, object]:
    """A Spark session or an SQLAlchemy engine, known by what it can do: neither need be installed for the other."""
    if hasattr(source, "catalog") and hasattr(source, "table"):
        return {"tables": from_spark(session=source)}
    if hasattr(source, "connect") and hasattr(source, "dialect"):
        return read_database(source)
    raise ConfigError(
        f"a schema cannot be read from a {type(source).__name__}",
        remedy="Give a mapping, an address, a Spark session or an SQLAlchemy engine.",
    )


def from_json(text: str, where: str = "schema") -> Mapping[str, object]:
    """The contract's JSON; a whole analysis result counts by its `resolvedSchema`."""
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        raise LineageError(f"{where} is not JSON: {error}", remedy='A schema is {"tables": [...]}.') from error
    if isinstance(loaded, dict) and isinstance(loaded.get("resolvedSchema"), dict):
        loaded = loaded["resolvedSchema"]
    if isinstance(loaded, dict) and isinstance(loaded.get("nodes"), dict):
        return {"tables": catalog_tables(loaded) if _is_catalog(loaded) else dbt_tables(DbtNode.of(loaded), {})}
    if not isinstance(loaded, dict):
        raise LineageError(f"{where} is not a JSON object", remedy='A schema is {"tables": [...]}.')
    return loaded


def from_ddl(sql: str, *, dialect: str = "spark") -> list[SchemaTable]:
    """The tables that a script declares."""
    analyzer = Analyzer(dialect=dialect)
    analyzer.add(Script(sql))
    return [dict(table.to_dict()) for table in analyzer.result().resolved_schema.tables]


def from_information_schema(text: str, where: str = "the file") -> list[SchemaTable]:
    """`SELECT * FROM information_schema.columns` as CSV: one row for each column, in any order of rows."""
    rows = csv.DictReader(text.splitlines())
    names = {name.strip().lower(): name for name in rows.fieldnames or []}
    if "table_name" not in names or "column_name" not in names:
        raise LineageError(
            f"{where} has no columns table_name and column_name",
            remedy="Export information_schema.columns with its header.",
        )
    tables: dict[tuple[str, str, str], list[tuple[int, dict[str, str]]]] = {}
    for number, row in enumerate(rows):
        facts = {key: (row.get(name) or "").strip() for key, name in names.items()}
        if not facts["table_name"] or not facts["column_name"]:
            raise LineageError(f"{where}, line {number + 2}: no table or no column", remedy="Check the file.")
        position = facts.get("ordinal_position", "")
        column = {"name": facts["column_name"], **({"dataType": facts["data_type"]} if facts.get("data_type") else {})}
        key = (facts.get("table_catalog", ""), facts.get("table_schema", ""), facts["table_name"])
        tables.setdefault(key, []).append((int(position) if position.isdigit() else number, column))
    return [
        {
            **({"catalog": catalog} if catalog else {}),
            **({"schema": schema} if schema else {}),
            "name": table,
            "columns": [column for _, column in sorted(columns, key=lambda item: item[0])],
        }
        for (catalog, schema, table), columns in tables.items()
    ]


class DuckdbView(NamedTuple):
    """A view of a DuckDB file, and the statement that made it."""

    schema: str
    name: str
    sql: str


def duckdb_views(file: str) -> list[DuckdbView]:
    """The views of a DuckDB file."""
    with _duckdb_file(file) as connection:
        rows = connection.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
    return [DuckdbView(*row) for row in rows]


@contextmanager
def _duckdb_file(file: str) -> Iterator[Any]:
    """A connection that only reads, and does not lock others out."""
    import duckdb

    if not Path(file).exists():
        raise ConfigError(f"the DuckDB file {file} is not there", remedy="Check the path after duckdb:.")
    try:
        connection = duckdb.connect(file, read_only=True)
    except duckdb.Error as error:
        raise LineageError(f"{file} cannot be opened: {error}", remedy="Close what has it open for writing.") from error
    try:
        yield connection
    finally:
        connection.close()


def from_duckdb(place: str) -> list[SchemaTable]:
    """Tables and views of a DuckDB file."""
    file, _, wanted = place.partition("#")
    with _duckdb_file(file) as connection:
        rows = connection.execute(
            "SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE NOT internal ORDER BY schema_name, table_name, column_index"
        ).fetchall()
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


def from_spark(
    database: str | None = None, *, session: object | None = None, workdir: str | None = None
) -> list[SchemaTable]:
    """Tables and views of a Spark session's catalog, temporary views too.

    Without a session it is the active one, and without that one is started as the settings say.
    """
    from lakebed.engines.registry import require_engine

    require_engine("spark", "the schema of a Spark session")
    with _spark_session(session, workdir) as spark:
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


@contextmanager
def _spark_session(session: object | None, workdir: str | None) -> Iterator[Any]:
    if session is not None:
        yield session
        return
    from lakebed.config import load_settings
    from lakebed.engines.spark.session import open_session

    with open_session(load_settings({"workdir": workdir})) as opened:
        yield opened.spark


def from_dbt(place: Path) -> list[SchemaTable]:
    """Sources, seeds, snapshots and models of a dbt project, with the columns that dbt found or the project documents.

    The place is the project's folder, its target folder, or one of the files that dbt writes there.
    """
    folders = (place / "target", place) if place.is_dir() else (place.parent,)
    folder = next((one for one in folders if any((one / name).is_file() for name in _ARTIFACTS)), folders[-1])
    manifest_path, catalog_path = (folder / name for name in _ARTIFACTS)
    if place.is_file() or not place.exists():
        loaded = read_artifact(place, "manifest", remedy="Run dbt parse or dbt compile.")
        if _is_catalog(loaded):
            return catalog_tables(loaded)
        manifest_path = place
    catalog: Mapping[str, object] = {}
    if catalog_path.is_file():
        catalog = read_artifact(catalog_path, "catalog", remedy="Run dbt docs generate.")
    if not manifest_path.is_file() and catalog:
        return catalog_tables(catalog)
    manifest = read_artifact(manifest_path, "manifest", remedy="Run dbt parse or dbt compile.")
    return dbt_tables(DbtNode.of(manifest), catalog_columns(catalog))


_ARTIFACTS = ("manifest.json", "catalog.json")


def _is_catalog(artifact: Mapping[str, object]) -> bool:
    """A catalog's nodes are described by `metadata`, a manifest's by `resource_type`."""
    groups = [group for name in ("nodes", "sources") if isinstance(group := artifact.get(name), dict)]
    found = [node for group in groups for node in group.values()]
    return bool(found) and all(isinstance(node, dict) and "metadata" in node for node in found)
