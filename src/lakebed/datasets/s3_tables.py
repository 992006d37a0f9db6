"""The function that the never-drop specification names for dbt: adds columns to an Iceberg table and drops none."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from lakebed.config import DEFAULT_CATALOG
from lakebed.errors import ColumnDropRefused, ConfigError
from lakebed.schema.duckdb import from_duckdb
from lakebed.schema.evolve import Policy
from lakebed.schema.types import Column, Schema
from lakebed.table.evolve import apply, type_or_text
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.targets.shared.refusals import no_such_table
from lakebed.workspace import Workspace


@runtime_checkable
class DbtRelation(Protocol):
    """dbt's relation object, as far as it matters here: `database` is the catalog, `schema` the namespace."""

    @property
    def database(self) -> str | None: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def identifier(self) -> str | None: ...


AnyRelation: TypeAlias = DbtRelation | Target | str


def evolve_s3_tables_schema(
    relation: AnyRelation,
    add_columns: Sequence[Mapping[str, str]] | None,
    drop_columns: Sequence[str] | None = None,
) -> bool:
    """Adds columns (`{'name': ..., 'type': ...}`, types in DuckDB's words) to the table; True when they are there.

    Columns that the table has already, in whatever case, are left as they are. Asking for a drop raises
    ColumnDropRefused and changes nothing. An unknown type becomes text, and a warning says so.
    """
    target = _target(relation)
    if drop_columns:
        raise ColumnDropRefused(table=target.address, columns=list(drop_columns))
    if not target.state().exists:
        raise no_such_table(target.address)
    new = Schema.of(
        Column(one["name"], type_or_text(one["type"], column=one["name"], read=from_duckdb))
        for one in add_columns or ()
    )
    new.require_unambiguous(side="source")

    def grown(current: Schema) -> Schema:
        return current.with_columns(column for column in new if column.name not in current)

    apply(target, grown, Policy(rules=target.capabilities.rules))
    return True


def _target(relation: AnyRelation) -> Target:
    workspace = Workspace.open()
    if isinstance(relation, str) and relation.startswith("iceberg:"):
        return workspace.target(relation)
    if isinstance(relation, str):
        *databases, namespace, table = ("", *relation.replace('"', "").rsplit(".", 2))
        database: str | None = databases[-1]
    elif isinstance(relation, DbtRelation):
        database, namespace, table = relation.database, relation.schema or "", relation.identifier or ""
    else:
        return relation
    if not namespace or not table:
        raise ConfigError(f"{relation} names no table", remedy="Name it as NAMESPACE.TABLE.")
    # dbt's database is the name under which a catalog was attached; one of that name in the settings is meant.
    catalog = database if database in workspace.settings.catalog else DEFAULT_CATALOG
    return workspace.target(Address("iceberg", namespace, table, catalog=catalog))
