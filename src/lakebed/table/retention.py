"""Replaced deliveries that stay readable: which of them, for how long, and the copies of a target without a history.

A target whose commit keeps replaced rows itself needs none of the copying. For the others the rows are copied into the
table beside it before the commit that removes them, and removed there after the commit that says that they are kept no
longer: a crash in between leaves a copy too many, never one too few.
"""

from dataclasses import replace
from datetime import datetime

from lakebed.engines.protocols.load import Engine
from lakebed.errors import TargetError
from lakebed.model import LOAD, PERIOD, ColumnSlice
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.types import Column, Text
from lakebed.table.replace import Replacement, replace_slice
from lakebed.targets.base import Change, TableState, Target
from lakebed.targets.load_log import LoadLog, LoadStep, LoggedLoad, Retention


def retention_of(log: LoadLog, chosen: str | None) -> Retention | None:
    """The rule that was chosen, else the one that the table was last loaded with."""
    rule = chosen or log.retain
    return None if rule is None else Retention.parse(rule)


def outdated_loads(log: LoadLog, rule: Retention | None, now: datetime) -> tuple[LoggedLoad, ...]:
    """The kept loads that the rule keeps no longer."""
    return () if rule is None else log.replaced_before(rule.limit(now))


def copy_replaced(target: Target, history: Target, engine: Engine, state: TableState, step: LoadStep) -> None:
    """Copies the rows that a commit is about to replace into the table beside, where the target does not keep them."""
    for load in state.log.replaced_by(step):
        _copy(target, history, engine, state, load)


def _copy(target: Target, history: Target, engine: Engine, state: TableState, load: LoggedLoad) -> None:
    held = history.state()
    if held.exists and LOAD not in held.schema:
        raise TargetError(
            f"{target.address} cannot keep replaced deliveries in {history.address}: there is another table",
            remedy="Move that table away, or load into a table of another name.",
        )
    touched = target.affected(state, load.slice)
    partition = {PERIOD: load.slice.period, LOAD: load.id}
    files = [
        replace(file, partition={**file.partition, **partition}, bounds={}) for file in (*touched.whole, *touched.mixed)
    ]
    wanted = state.schema.with_columns([Column(LOAD, Text())])
    evolution = plan_evolution(held.schema if held.exists else None, wanted, Policy(rules=history.capabilities.rules))
    staging = history.stage(held, evolution, partition_by=(PERIOD, LOAD))
    try:
        copies = engine.rewrite(files, staging, only=load.slice) if files else ()
        found = sum(file.rows for file in copies)
        expected = target.totals(load.slice, ()).rows
        if found != expected:
            raise TargetError(
                f"{found} of {expected} rows of {load.slice} were copied to {history.address}",
                remedy="Nothing was replaced. Run again; if it stays so, a disk or another writer is at fault.",
            )
        replacement = Replacement(evolution, ColumnSlice({LOAD: load.id}), copies, {"lakebed.load": load.id})
        replace_slice(history, engine, held, staging, replacement)
    except BaseException:
        history.abandon(staging)
        raise


def remove_copies(history: Target, engine: Engine, log: LoadLog) -> None:
    """Removes copies of loads that the table's log, as it is committed, keeps no longer.

    A copy of a load that is current is left: a writer that runs may be about to replace it.
    """
    held = history.state()
    if not held.exists or LOAD not in held.schema:
        return
    current = {load.id for load in log.current.values()}
    gone = frozenset(load.id for load in log.loads if not load.kept and load.id not in current)
    there = {file.partition.get(LOAD) for file in held.files}
    if not gone & there:
        return
    evolution = plan_evolution(held.schema, held.schema, Policy(rules=history.capabilities.rules))
    staging = history.stage(held, evolution)
    try:
        slice_ = ColumnSlice({LOAD: frozenset(gone & there)})
        replace_slice(history, engine, held, staging, Replacement(evolution, slice_, ()))
    except BaseException:
        history.abandon(staging)
        raise


def forget_outdated(
    target: Target, history: Target, engine: Engine, chosen: str | None, now: datetime, *, dry_run: bool
) -> tuple[LoggedLoad, ...]:
    """Lets go of replaced loads that the rule keeps no longer, in a commit of its own; returns them."""
    state = target.state()
    rule = retention_of(state.log, chosen)
    outdated = outdated_loads(state.log, rule, now)
    if dry_run:
        return outdated
    log = state.log
    if outdated:
        step = LoadStep(forget=tuple(load.id for load in outdated))
        evolution = plan_evolution(state.schema, state.schema, Policy(rules=target.capabilities.rules))
        staging = target.stage(state, evolution)
        try:
            target.commit(state, staging, Change(evolution, loads=step))
        except BaseException:
            target.abandon(staging)
            raise
        log = log.after(step)
    if not target.capabilities.keeps_replaced:
        remove_copies(history, engine, log)
    return outdated
