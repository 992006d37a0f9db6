"""A model's rows into its table, by Lakebed's own plan and commit."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow.parquet as pq

from lakebed.checkpoints import pass_checkpoint
from lakebed.config import Settings
from lakebed.dbt.appends import DIGEST, INVOCATION, MODEL, NUMBER, Pending, next_number, refusal, writer_name
from lakebed.dbt.words import ModelWords
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.registry import choose_merge_engine, choose_row_engine
from lakebed.errors import SchemaError
from lakebed.merge_core.spec import MergeSpec
from lakebed.model import WriteMode
from lakebed.schema.arrow import from_arrow_schema
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.types import fold
from lakebed.storage import Storage
from lakebed.table.events import task
from lakebed.table.lent_keys import borrow_keys
from lakebed.table.merge import merge_rows
from lakebed.table.write import write_rows
from lakebed.table.write_spec import WriteSpec
from lakebed.targets.base import TableState, Target

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stored:
    """What became of a model's rows. `number` is that of an append, which dbt's database is to acknowledge."""

    message: str
    plan: EvolutionPlan
    number: int | None = None


@dataclass(frozen=True)
class ModelRun:
    """One model in one run of dbt."""

    model: str
    invocation: str
    words: ModelWords
    full_refresh: bool = False
    accepted: bool = False  # the user says that what an interrupted append left counts

    @property
    def properties(self) -> dict[str, str]:
        """What the commit says about itself."""
        return {MODEL: self.model, INVOCATION: self.invocation}


def plan_model(run: ModelRun, file: str, table: Target, state: TableState) -> EvolutionPlan:
    """What the rows in the file do to the table's columns. Raises SchemaError, also where the model wants none."""
    incoming = from_arrow_schema(pq.read_schema(file))
    policy = Policy(on_conflict=run.words.on_conflict, rules=table.capabilities.rules)
    plan = plan_evolution(state.schema if state.exists else None, incoming, policy)
    if run.words.on_schema_change == "fail" and not plan.creates and (plan.changes_schema or plan.padded):
        raise SchemaError(
            f"{run.model}: on_schema_change='fail', and the columns of the model are not those of {table.address}:\n"
            f"{plan.describe()}",
            remedy="Change the model, or use on_schema_change='append_new_columns'.",
        )
    return plan


def store_rows(
    run: ModelRun,
    file: str,
    rows: int,
    table: Target,
    settings: Settings,
    *,
    digest: str | None = None,
    pending: Pending | None = None,
) -> Stored:
    """Commits the rows of a Parquet file as the model's words say."""
    state = table.state()
    plan = plan_model(run, file, table, state)
    run = _with_partitions(run, table, state)
    pass_checkpoint("model planned")
    if run.full_refresh and state.exists:
        stored = _write(run, file, table, settings, plan, "overwrite")
    elif run.words.strategy == "append":
        stored = _append(run, file, rows, table, settings, plan, state, digest, pending)
    elif not rows:
        # A merge of nothing does nothing, and dbt wants the table, with the columns that the model has now.
        stored = _write(run, file, table, settings, plan, "append")
    else:
        stored = _merge(run, file, table, settings, plan)
    pass_checkpoint("model committed")
    return stored


def _with_partitions(run: ModelRun, table: Target, state: TableState) -> ModelRun:
    """A model names its partitions in every run, and a table keeps those that it was created with."""
    if not state.exists or not run.words.partition_by:
        return run
    wanted = [fold(name) for name in run.words.partition_by]
    if table.capabilities.made_of_files and wanted != [fold(name) for name in state.partition_by]:
        log.warning(
            "%s: %s keeps the partitions it was created with, %s; partition_by says %s",
            run.model,
            table.address,
            ", ".join(state.partition_by) or "none",
            ", ".join(run.words.partition_by),
        )
    return replace(run, words=replace(run.words, partition_by=()))


def adopt_rows(run: ModelRun, file: str, table: Target, settings: Settings) -> Stored:
    """Commits the rows of the table that dbt had before as the first ones of a table that is not there yet."""
    plan = plan_model(run, file, table, table.state())
    stored = _write(run, file, table, settings, plan, "append")
    pass_checkpoint("old table adopted")
    return stored


def _append(
    run: ModelRun,
    file: str,
    rows: int,
    table: Target,
    settings: Settings,
    plan: EvolutionPlan,
    state: TableState,
    digest: str | None,
    pending: Pending | None,
) -> Stored:
    if pending is not None and not run.accepted:
        if pending.digest is not None and pending.digest == digest:
            said = "append: the rows are there already, from a run that ended before dbt knew of it"
            return Stored(said, plan, pending.number)
        if rows:
            raise refusal(run.model, table.address, pending)
    if not rows:
        return _write(run, file, table, settings, plan, "append")
    number = next_number(state, run.model)
    told = {DIGEST: digest or "", NUMBER: str(number)}
    stored = _write(run, file, table, settings, plan, "append", txn=(writer_name(run.model), number), told=told)
    return Stored(stored.message, plan, number)


def _write(
    run: ModelRun,
    file: str,
    table: Target,
    settings: Settings,
    plan: EvolutionPlan,
    mode: WriteMode,
    *,
    txn: tuple[str, int] | None = None,
    told: Mapping[str, str] | None = None,
) -> Stored:
    words = run.words
    spec = WriteSpec.of(mode=mode, slice_=None, partition_by=words.partition_by, on_conflict=words.on_conflict, txn=txn)
    storage = borrow_keys(Storage(settings.storage), table)
    engine = choose_row_engine(file, EngineOptions())
    with engine.open(file, storage.settings.resolved(), settings) as rows:
        done = write_rows(
            spec,
            rows,
            table,
            settings,
            storage,
            paths=(file,),
            properties={**run.properties, **(told or {})},
            keeps_history=True,
        )
    removed = f", {done.removed} removed" if done.removed else ""
    return Stored(f"{mode}: {done.rows} rows{removed}, {done.total} in all", plan)


def _merge(run: ModelRun, file: str, table: Target, settings: Settings, plan: EvolutionPlan) -> Stored:
    words = run.words
    spec = MergeSpec.of(
        keys=words.keys,
        strategy="delete_insert" if words.strategy == "delete+insert" else "upsert",
        missing=words.missing,
        schema_evolution=words.on_schema_change != "fail",
        partition_by=words.partition_by,
        on_conflict=words.on_conflict,
    )
    storage = borrow_keys(Storage(settings.storage), table)
    engine = choose_merge_engine(None, file, EngineOptions())
    with (
        task("merge", table.address) as told,
        engine.open(file, storage.settings.resolved(), settings) as rows,
    ):
        told.reads((file,))
        done = merge_rows(
            spec, rows, table, storage, told, ledger_place=settings.ledger_place, properties=run.properties
        )
        told.counted(rows=done.inserted + done.updated, files=len(done.files))
    changed = f"{done.updated} updated" if words.strategy == "merge" else f"{done.deleted} deleted"
    return Stored(f"{words.strategy}: {done.inserted} inserted, {changed}, {done.total} in all", plan)
