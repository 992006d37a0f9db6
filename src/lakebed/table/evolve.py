"""`lakebed.evolve`: a table's schema grows without any rows arriving, planned, shown and applied."""

import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.config import load_settings
from lakebed.engines.registry import local_engine
from lakebed.errors import ConfigError, SchemaError, UnsupportedType
from lakebed.retry import count_retries, retry
from lakebed.schema.arrow import from_arrow_field
from lakebed.schema.duckdb import from_duckdb
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.spark import from_spark, from_spark_ddl
from lakebed.schema.types import Column, DataType, Schema, Text
from lakebed.state.records import schema_changes
from lakebed.state.unrecorded import change_properties, may_be_unrecorded, record_unrecorded
from lakebed.table.read import TableLike, open_table, open_workspace
from lakebed.targets.base import Change, TableState, Target

LOG = logging.getLogger("lakebed")

# A name and one word for a type, with or without parameters: more words are a comma that was forgotten.
_COLUMN = re.compile(r"""\s*(?P<name>\w+|"(?:[^"]|"")+"|`(?:[^`]|``)+`)\s+(?P<type>\w+\s*([(<\[].*[)>\]])?)\s*""")

SchemaLike: TypeAlias = Schema | pa.Schema | Mapping[str, str] | Sequence[Mapping[str, str]] | str | os.PathLike[str]
"""The columns of a table: as a schema, as names and types, as DDL text, or the path of a file that holds them."""


def evolve(
    target: TableLike,
    incoming_schema: SchemaLike,
    *,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
    on_conflict: Literal["refuse", "variant"] = "refuse",
) -> EvolutionPlan:
    """Adds and widens columns of a table so that it could take data of this schema; never drops or narrows one.

    With `dry_run` nothing is touched. The schema is ours, pyarrow's, `{name: type}`, a list of `{"name", "type"}`, DDL
    text, or a `.parquet`, `.json` or `.sql` file. A type that does not fit is refused, or with `on_conflict="variant"`
    gets a column of its own; one that is not known becomes text, and a warning says so.

    >>> lakebed.evolve("parquet:costs", {"id": "int", "cost": "decimal(38,18)"}).creates
    True
    >>> print(lakebed.evolve("parquet:costs", "id bigint, tag string", dry_run=True))
    add     tag text
    widen   id from int32 to int64
    NULL    in new rows: cost
    """
    opened = open_table(target, workdir=workdir, read_only=dry_run)
    if on_conflict not in ("refuse", "variant"):
        raise ConfigError(f"on_conflict is {on_conflict!r}", remedy="It is 'refuse' or 'variant'.")
    policy = Policy(on_conflict=on_conflict, rules=opened.capabilities.rules)
    incoming = as_schema(incoming_schema)
    state = opened.state()
    plan = plan_evolution(state.schema if state.exists else None, incoming, policy)
    if dry_run:
        return plan
    workspace = open_workspace(workdir)
    place = workspace.settings.ledger_place
    if not plan.changes_schema and not may_be_unrecorded(opened.last_commit(), place):
        return plan
    # Before the table is touched: a ledger that cannot be written is a refusal, not a change that nobody knows of.
    with workspace.ledger() as ledger:
        record_unrecorded(opened, state, ledger, place)
        with count_retries() as count:
            plan, version = apply(opened, lambda _: incoming, policy, ledger_place=place)
        if plan.changes_schema:
            ledger.record_schema_changes(opened.address, schema_changes(plan), version=version)
    return replace(plan, retries=count.retries)


def apply(
    target: Target, incoming: Callable[[Schema], Schema], policy: Policy, *, ledger_place: str | Path | None = None
) -> tuple[EvolutionPlan, str]:
    """Commits a schema change alone; when another writer commits first, plans again on what it left."""

    def attempt() -> tuple[EvolutionPlan, str]:
        state = target.state()
        plan = plan_evolution(state.schema if state.exists else None, incoming(state.schema), policy)
        return plan, _commit(target, state, plan, ledger_place) if plan.changes_schema else state.version

    return retry(attempt, what=f"the schema change of {target.address}")


def _commit(target: Target, state: TableState, plan: EvolutionPlan, ledger_place: str | Path | None) -> str:
    staging = target.stage(state, plan)
    try:
        # Plain Parquet has no place but its files for a type: those with the narrower one are rewritten.
        narrow = target.files_to_widen(state, plan)
        rewritten = local_engine(load_settings().storage).rewrite(narrow, staging) if narrow else ()
        return target.commit(
            state, staging, Change(plan, rewritten, narrow, properties=change_properties(plan, ledger_place))
        ).version
    except BaseException:
        target.abandon(staging)
        raise


def as_schema(given: SchemaLike) -> Schema:
    """Our schema for any of the ways in which one can be given."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, pa.Schema):
        return Schema.of(_arrow_column(field) for field in given)
    if isinstance(given, str | os.PathLike):
        return read_schema(given)
    if isinstance(given, Mapping):
        return Schema.of(Column(name, type_or_text(kind, column=name)) for name, kind in given.items())
    return Schema.of(Column(one["name"], type_or_text(one["type"], column=one["name"])) for one in given)


def read_schema(given: str | os.PathLike[str]) -> Schema:
    """A schema from a Parquet file, a JSON file (`{name: type}` or a list of `{"name", "type"}`), or DDL such as
    `id bigint, cost decimal(38,18)`. Types are Spark's or DuckDB's words.
    """
    text = os.fspath(given)
    path = Path(text)
    if path.suffix in (".parquet", ".json", ".sql") and not path.exists():
        raise ConfigError(f"there is no file {text}")
    if path.suffix == ".parquet":
        try:
            return as_schema(pq.read_schema(path))
        except pa.ArrowException as error:
            raise ConfigError(f"{text} cannot be read as Parquet: {error}", remedy="Give a Parquet file.") from error
    if path.suffix == ".json":
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError as broken:
            raise ConfigError(f"{text}, line {broken.lineno}: not JSON: {broken.msg}") from broken
        columns = content["columns"] if isinstance(content, dict) and "columns" in content else content
        if not isinstance(columns, dict | list):
            raise ConfigError(
                f"{text} holds no schema", remedy='Write {"name": "type"} or [{"name": ..., "type": ...}].'
            )
        return as_schema(columns)
    return _from_ddl(path.read_text(encoding="utf-8") if path.suffix == ".sql" else text)


def parse_type(text: str, *, column: str | None = None) -> DataType:
    """A type in Spark's words, else in DuckDB's. Raises UnsupportedType where neither knows it."""
    try:
        return from_spark(text, column=column)
    except SchemaError:
        return from_duckdb(text, column=column)


def type_or_text(text: str, *, column: str, read: Callable[..., DataType] | None = None) -> DataType:
    """The type that the words mean; text, with a warning, where neither Spark nor DuckDB knows them.

    `read` is asked first, where given.
    """
    for one in (read, parse_type) if read is not None else (parse_type,):
        try:
            return one(text, column=column)
        except SchemaError as error:
            unknown = error
    LOG.warning("column %s: the type %s is not known and becomes text (%s)", column, text, unknown.message)
    return Text()


def _arrow_column(field: pa.Field) -> Column:
    try:
        return from_arrow_field(field)
    except UnsupportedType as unknown:
        LOG.warning(
            "column %s: the type %s is not known and becomes text (%s)", field.name, field.type, unknown.message
        )
        return Column(field.name, Text(), nullable=field.nullable)


def _from_ddl(text: str) -> Schema:
    """The columns of DDL; a column of an unknown type is text, but what is no column list is refused."""
    try:
        return from_spark_ddl(text)
    except UnsupportedType:
        columns = [_COLUMN.fullmatch(part) for part in _split_columns(text)]
        if not all(columns):
            raise
    return Schema.of(
        Column(_unquoted(found["name"]), type_or_text(found["type"], column=_unquoted(found["name"])))
        for found in columns
        if found is not None
    )


def _split_columns(text: str) -> list[str]:
    """The text between commas that are inside no brackets and no quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"`'":
            quote = letter
        depth += (letter in "(<[") - (letter in ")>]") if not quote else 0
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _unquoted(name: str) -> str:
    for mark in '"`':
        if name.startswith(mark):
            return name[1:-1].replace(mark * 2, mark)
    return name
