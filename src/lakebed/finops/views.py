"""`lakebed views`: beside a loaded bill, the columns that people's SQL expects."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from lakebed.config import load_settings
from lakebed.engines.registry import require_engine
from lakebed.errors import ConfigError, EngineError, first_line
from lakebed.finops.bill_columns import BillColumns, find_bill_columns, map_columns
from lakebed.finops.bill_views import VIEWS, ViewName, plan_view
from lakebed.finops.projection import (
    DIALECTS,
    Dialect,
    Projection,
    literal_text,
    write_columns,
    write_name,
    write_select,
)
from lakebed.schema.spark import quote_identifier
from lakebed.storage import Storage
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, frame, open_table
from lakebed.targets.address import Address
from lakebed.targets.base import HoldsViews, Target
from lakebed.targets.registry import target_kind
from lakebed.targets.shared.refusals import no_such_table
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class View:
    """One view: what it is called, the statement that makes it, and its columns; `empty_columns` are always NULL.

    `created` is False where it was so before, and where the SQL alone was asked for.
    """

    name: str
    sql: str
    columns: tuple[str, ...]
    empty_columns: tuple[str, ...]
    created: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "created": self.created,
            "columns": list(self.columns),
            "emptyColumns": list(self.empty_columns),
            "sql": self.sql,
        }


@dataclass(frozen=True)
class ViewsResult:
    """The views of one table."""

    table: str
    views: tuple[View, ...]

    def to_dict(self) -> dict[str, object]:
        return {"table": self.table, "views": [view.to_dict() for view in self.views]}


def views(
    target: TableLike,
    *,
    dialect: Dialect | None = None,
    relation: str | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
) -> ViewsResult:
    """Creates the views `<table>_athena` and `<table>_cur2` beside a table that was loaded from CUR or CUR 2.0.

    The first has the names of CUR in Athena with `year` and `month`, the second the columns and maps of CUR 2.0. Both
    have every column that AWS's dictionary knows: what the report lacks is NULL. Columns are found by their original
    names, whatever the table calls them. In DuckDB they are views of the file; made again, they follow new columns.

    With `spark` they are temporary views of that session. With `relation`, the name by which the session knows the
    table, or with `master` or `remote`, they are views of its catalog. With `dialect` nothing is created: the result
    has the SQL to run, over `relation`.

    >>> made = lakebed.views("duckdb:costs.duckdb#report")  # doctest: +SKIP
    >>> [view.name for view in made.views]  # doctest: +SKIP
    ['report_athena', 'report_cur2']
    """
    if dialect is not None and dialect not in DIALECTS:
        raise ConfigError(f"{dialect!r} is no dialect of these views", remedy=f"Choose one of {', '.join(DIALECTS)}.")
    workspace = Workspace.open(
        {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    )
    table = open_table(target, workdir=workdir, read_only=True)
    on_spark = spark is not None or master is not None or remote is not None
    if dialect is not None:
        return _print(table, _plan(table), dialect, relation)
    if isinstance(table, HoldsViews) and not on_spark:
        return _create_beside(table, _plan(table))
    if not on_spark:
        raise ConfigError(
            f"{table.address} cannot hold views itself",
            remedy="Print the SQL for the engine that queries it, with --dialect spark, trino, duckdb or snowflake "
            "(dialect=), or name a Spark with --remote or --master (spark=) whose catalog takes them.",
        )
    require_engine("spark", "a view of Spark")
    from lakebed.engines.spark.session import open_session

    with open_session(workspace.settings, spark=spark) as session:
        rows = frame(session.spark, table, storage_of(table, Storage(load_settings().storage)).settings)
        plans = _plan(table, rows)
        if spark is not None and relation is None:
            return _create_temporary(table, plans, rows)
        return _create_in_catalog(table, plans, session.spark, relation)


def _plan(table: Target, rows: "DataFrame | None" = None) -> dict[ViewName, Projection]:
    bill = find_bill(table, rows)
    return {view: plan_view(view, bill) for view in VIEWS}


def find_bill(table: Target, rows: "DataFrame | None" = None) -> BillColumns:
    """The columns of a loaded bill, with the keys of its maps, which Spark looks up where `rows` are given."""
    state = table.state()
    if not state.exists:
        raise no_such_table(table.address)
    maps = map_columns(state.schema)
    keys = {column: _map_keys(table, column, rows) for column in maps}
    return find_bill_columns(state.schema, table=table.address, keys=keys)


def _map_keys(table: Target, column: str, rows: "DataFrame | None") -> tuple[str, ...]:
    if rows is not None:
        every = rows.selectExpr(f"explode(map_keys({quote_identifier(column)})) AS key").distinct().toArrow()
        return tuple(sorted(every.column("key").to_pylist()))
    if isinstance(table, HoldsViews):
        return table.map_keys(column)
    found: set[str] = set()
    read = table.read([column])
    for batch in read.to_batches() if isinstance(read, pa.Table) else _batches(read, column):
        found.update(pc.unique(batch.column(0).keys).to_pylist())
    return tuple(sorted(found))


def _batches(dataset: pads.Dataset, column: str) -> Sequence[pa.RecordBatch]:
    batches: Sequence[pa.RecordBatch] = dataset.to_batches(columns=[column])
    return batches


def table_name(table: Target) -> str:
    """What a table is called: a Parquet folder by its own name."""
    address = Address.parse(table.address)
    return address.table or address.place.rstrip("/").rsplit("/", 1)[-1]


def default_relation(table: Target, dialect: Dialect) -> str:
    """How an engine most likely names the table: `--relation` says it where it does not."""
    address = Address.parse(table.address)
    kind = target_kind(address.kind)
    if dialect == "duckdb" and kind.always_one_table:
        files = literal_text(f"{address.place.rstrip('/')}/**/*.parquet")
        return f"read_parquet({files}, union_by_name = true, hive_partitioning = true)"
    # The place of a table that is neither a file nor a folder is a namespace.
    namespace = () if kind.always_one_table or kind.keeps_views else address.place.split(".")
    return ".".join(write_name(part, dialect) for part in (*namespace, table_name(table)))


def view_name(table: Target, view: ViewName, relation: str | None, dialect: Dialect) -> str:
    """`<table>_<view>`, in the catalog and the namespace in which the relation is."""
    if relation is None:
        named = default_relation(table, dialect)
        if named.startswith("read_parquet("):
            return write_name(f"{table_name(table)}_{view}", dialect)
        relation = named
    parts = _parts(relation, dialect)
    return ".".join(write_name(part, dialect) for part in (*parts[:-1], f"{parts[-1]}_{view}"))


def _parts(relation: str, dialect: Dialect) -> list[str]:
    """The catalog, the schema and the name, as far as they are written."""
    try:
        [select] = parse(f"SELECT 1 FROM {relation}", dialect=dialect)
    except (SqlglotError, ValueError):
        select = None
    tables = [] if select is None else list(select.find_all(exp.Table))
    if len(tables) != 1 or tables[0].alias or not isinstance(tables[0].this, exp.Identifier):
        raise ConfigError(
            f"{relation!r} is no name of a table", remedy="Write it as the engine does: catalog.schema.table."
        )
    return [part.name for part in tables[0].parts]


def _statement(name: str, select: str) -> str:
    return f"CREATE OR REPLACE VIEW {name} AS\n{select}"


def _print(table: Target, plans: Mapping[ViewName, Projection], dialect: Dialect, relation: str | None) -> ViewsResult:
    made = []
    for view, plan in plans.items():
        select = write_select(plan, relation or default_relation(table, dialect), dialect)
        name = view_name(table, view, relation, dialect)
        made.append(View(name, _statement(name, select), plan.names, plan.empty_columns, created=False))
    return ViewsResult(table.address, tuple(made))


def _create_beside(table: Target, plans: Mapping[ViewName, Projection]) -> ViewsResult:
    assert isinstance(table, HoldsViews)
    name = table_name(table)
    selects = {
        f"{name}_{view}": write_select(plan, write_name(name, "duckdb"), "duckdb") for view, plan in plans.items()
    }
    created = table.replace_views(selects)
    return ViewsResult(
        table.address,
        tuple(
            View(
                called,
                _statement(write_name(called, "duckdb"), select),
                plan.names,
                plan.empty_columns,
                called in created,
            )
            for (called, select), plan in zip(selects.items(), plans.values(), strict=True)
        ),
    )


def _create_temporary(table: Target, plans: Mapping[ViewName, Projection], rows: "DataFrame") -> ViewsResult:
    made = []
    for view, plan in plans.items():
        name = f"{table_name(table)}_{view}"
        expressions = write_columns(plan, "spark")
        with _refusals_of_spark(name):
            rows.selectExpr(*expressions).createOrReplaceTempView(write_name(name, "spark"))
        select = write_select(plan, default_relation(table, "spark"), "spark")
        made.append(View(name, select, plan.names, plan.empty_columns, created=True))
    return ViewsResult(table.address, tuple(made))


def _create_in_catalog(
    table: Target, plans: Mapping[ViewName, Projection], spark: "SparkSession", relation: str | None
) -> ViewsResult:
    printed = _print(table, plans, "spark", relation)
    made = []
    for view in printed.views:
        with _refusals_of_spark(view.name):
            spark.sql(view.sql)
        made.append(View(view.name, view.sql, view.columns, view.empty_columns, created=True))
    return ViewsResult(table.address, tuple(made))


@contextmanager
def _refusals_of_spark(name: str) -> Iterator[None]:
    """What Spark says against a view; a mistake of ours is none of its refusals, and stays what it is."""
    from lakebed.engines.spark.tasks import is_of_spark

    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise EngineError(
            f"Spark does not take the view {name}: {first_line(error)}",
            remedy="Say with --relation (relation=) how this Spark names the table.",
        ) from error
