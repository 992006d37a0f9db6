"""Where a model's table is, and what dbt's database sees of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from lakebed.config import DEFAULT_CATALOG, Settings
from lakebed.errors import ConfigError, TargetError
from lakebed.schema.duckdb import quote_identifier, quote_literal
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.targets.address import Address, open_target
from lakebed.targets.base import Target
from lakebed.targets.duckdb.file import OpenDatabase
from lakebed.targets.duckdb.target import DuckDBTarget

# The table that dbt itself would make, in dbt's own database.
OWN_DATABASE = "duckdb"
DEFAULT_PLACE = "iceberg:{schema}"
# Under this name dbt's database has the default catalog, where that is one that DuckDB can attach; others keep theirs.
DEFAULT_ALIAS = "lake"


@dataclass(frozen=True)
class Relation:
    """What dbt calls the model in its database."""

    database: str
    schema: str
    name: str

    def __str__(self) -> str:
        return ".".join(quote_identifier(part) for part in (self.database, self.schema, self.name))


@dataclass(frozen=True)
class Places:
    """Opens the tables of models. `connect` gives a connection of its own to dbt's database, `files` say its files."""

    settings: Settings
    default: str
    connect: Callable[[], duckdb.DuckDBPyConnection]
    files: Mapping[str, str]
    attached: Mapping[str, str] = field(default_factory=dict)  # catalogs that dbt's database has, by name: their alias

    def find(self, wanted: str | None, relation: Relation) -> "Place":
        """The place that a model asks for, or that of the profile."""
        text = wanted or self.default
        if text == OWN_DATABASE:
            return Place(relation, None, self)
        try:
            filled = text.format(schema=relation.schema, name=relation.name)
        except (KeyError, IndexError, ValueError) as unknown:
            raise ConfigError(
                f"the target {text!r} has a name in braces that is not known: {unknown}",
                remedy="Known are {schema} and {name}.",
            ) from unknown
        address = Address.parse(filled)
        if address.branch is not None:
            raise ConfigError(
                f"{filled} is a branch, and a model of dbt is a table",
                remedy="Name the table without @BRANCH, or another table.",
            )
        if address.kind == "duckdb":
            raise ConfigError(
                f"{filled} is a DuckDB file of its own, which cannot be written while dbt has it open",
                remedy=f"Use the target {OWN_DATABASE!r} for a table in dbt's own database; attach another file in the "
                "profile and set the model's database to it.",
            )
        if address.kind == "parquet" and wanted is None and "{name}" not in text:
            address = Address.parse(f"parquet:{join(address.place, relation.schema, relation.name)}")
        return Place(relation, address if address.names_table else address.with_table(relation.name), self)


@dataclass(frozen=True)
class Place:
    """One model's table; `address` is None for one in dbt's own database."""

    relation: Relation
    address: Address | None
    places: Places

    @property
    def is_view(self) -> bool:
        """dbt's database has a view of it, not the table itself."""
        return self.address is not None

    def describe(self) -> str:
        """What the table is, in one line, for dbt's docs."""
        if self.address is None:
            return "DuckDB table"
        kind = {"iceberg": "Iceberg table", "parquet": "Parquet table"}[self.address.kind]
        return f"{kind} {self.address.as_recorded()}"

    def open(self) -> Target:
        """The table, which need not exist yet."""
        settings = self.places.settings
        storage = Storage(settings.storage)
        if self.address is not None:
            return open_target(self.address, workdir=settings.workdir_path, storage=storage, catalogs=settings.catalog)
        file = self.places.files.get(self.relation.database)
        if file is None:
            raise ConfigError(
                f"{self.relation} is not in a DuckDB file",
                remedy=f"The target {OWN_DATABASE!r} needs one: {', '.join(sorted(self.places.files))}.",
            )
        database = OpenDatabase(Path(file), self.relation.schema, self._connect)
        staging = str(settings.workdir_path / "dbt" / "tables")
        return DuckDBTarget(file, self.relation.name, storage=storage, staging=staging, database=database)

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = self.places.connect()
        connection.execute("SET TimeZone = 'UTC'")
        schema = ".".join(quote_identifier(part) for part in (self.relation.database, self.relation.schema))
        connection.execute(f"USE {schema}")
        return connection

    def select(self, table: Target, *, snapshot: int | None = None) -> str:
        """The query that dbt's view of the table is, of an earlier snapshot where one is given."""
        address = self.address
        if address is None:
            raise TargetError(f"{self.relation} is a table, not a view")
        if address.kind == "parquet":
            return _select_parquet(address, table)
        catalog = address.catalog or DEFAULT_CATALOG
        alias = self.places.attached.get(catalog)
        if alias is not None:
            at = "" if snapshot is None else f" AT (VERSION => {snapshot})"
            parts = (alias, address.place, address.table or "")
            return f"SELECT * FROM {'.'.join(quote_identifier(part) for part in parts)}{at}"
        from lakebed.targets.iceberg.target import IcebergTarget

        if not isinstance(table, IcebergTarget):
            raise TargetError(f"{table.address} is no Iceberg table")
        place = quote_literal(_plain(table.existing_table().metadata_location))
        chosen = "" if snapshot is None else f", snapshot_from_id => {snapshot}"
        return f"SELECT * FROM iceberg_scan({place}{chosen})"


def _select_parquet(address: Address, table: Target) -> str:
    """By name and over all files: others may add some, and columns to them."""
    partitions = table.state().partition_by
    pattern = join(_plain(address.data_folder or address.place), "**", "*.parquet")
    hive = "hive_partitioning => true, hive_types_autocast => false" if partitions else "hive_partitioning => false"
    return f"SELECT * FROM read_parquet({quote_literal(pattern)}, union_by_name => true, {hive})"


def _plain(uri: str) -> str:
    return str(local_path(uri)) if is_local(uri) else uri
