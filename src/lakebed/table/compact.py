"""`lakebed compact`: small files become few, in one commit like any other, and no row changes."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from lakebed.checkpoints import pass_checkpoint
from lakebed.engines.protocols.load import CompactJob, Engine
from lakebed.errors import ConfigError, EngineError
from lakebed.model import PERIOD, Compacted, DataFile, SortKey
from lakebed.retry import retry
from lakebed.schema.evolve import Policy, plan_evolution
from lakebed.schema.types import List, Map, Schema, Struct, fold
from lakebed.state.records import SchemaChange
from lakebed.state.unrecorded import told_properties
from lakebed.storage import Storage
from lakebed.subject import working_on
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, open_table
from lakebed.table.schema_history import SchemaHistory
from lakebed.table.session_engine import table_engine
from lakebed.targets.base import Change, Settles, TableState, Target
from lakebed.targets.shared.footers import with_bounds
from lakebed.targets.shared.refusals import no_such_table
from lakebed.targets.snapshots import HasSnapshots
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

# A file of at least this share of the wanted size is left as it is: joining it with others would gain nothing.
LARGE_ENOUGH = 0.75
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True)
class CompactPlan:
    """Which files become one: packs of several small files of one partition."""

    packs: tuple[tuple[DataFile, ...], ...]
    files: int
    size_bytes: int

    @property
    def leaving(self) -> tuple[DataFile, ...]:
        return tuple(file for pack in self.packs for file in pack)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.leaving)


@dataclass(frozen=True)
class CompactResult:
    """What a compaction did, or would do: `bytes_after` is not known before the files are written."""

    table: str
    files_before: int
    files_after: int
    files_rewritten: int
    files_written: int
    rows: int  # of the files that were rewritten
    bytes_before: int
    bytes_after: int | None
    dry_run: bool
    version: str | None = None

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.table,
            "filesBefore": self.files_before,
            "filesAfter": self.files_after,
            "filesRewritten": self.files_rewritten,
            "filesWritten": self.files_written,
            "rows": self.rows,
            "bytesBefore": self.bytes_before,
            "bytesAfter": self.bytes_after,
            "dryRun": self.dry_run,
            "version": self.version,
        }


def compact(
    target: TableLike,
    *,
    target_size: str | int = "256MB",
    period: str | None = None,
    sort_by: Sequence[str] | str | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
) -> CompactResult:
    """Makes few files of many small ones, partition by partition, and changes no row.

    New files are about `target_size` large; files of three quarters of it stay as they are. `period` compacts one month
    of a table that `lakebed run` loaded. With `sort_by` the rows of each new file are in that order, NULL last, and
    without it in the sort order of an Iceberg table that has one. It runs in this
    process, or on Spark where `spark`, `master` or `remote` say which. Rows, NULLs and exact sums of what was written
    are compared with what was read before the commit. With `dry_run` it says what it would do and touches nothing.

    >>> for number in range(3):
    ...     _ = lakebed.merge(pa.table({"id": [number]}), "parquet:costs", keys="id")
    >>> done = lakebed.compact("parquet:costs")
    >>> done.files_before, done.files_after, done.rows
    (3, 1, 3)
    """
    wanted = parse_size(target_size)
    columns = (sort_by,) if isinstance(sort_by, str) else tuple(sort_by or ())
    workspace = Workspace.open(
        {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    )
    table = open_table(target, workdir=workdir, read_only=dry_run)
    if not table.capabilities.made_of_files:
        raise ConfigError(
            f"{table.address} is not made of files that could be put together",
            remedy="Compact Parquet and Iceberg tables; DuckDB tidies its own file up: CHECKPOINT, or VACUUM.",
        )
    storage = storage_of(table, workspace.storage)
    if not dry_run and isinstance(table, Settles) and table.settle():
        log.info("files of %s that other writers had covered were rewritten first", table.address)
    # A table with snapshots keeps its history itself; one that the caller opened has no ledger.
    kept = table is target or isinstance(table, HasSnapshots)
    history = SchemaHistory(table, None if kept else workspace.settings.ledger_place)
    run = _Run(table, storage, wanted, period, columns, history)
    if dry_run:
        state = run.state()
        return _result(table, run.plan(state), dry_run=True)
    on_spark = spark is not None or master is not None or remote is not None
    with (
        working_on({"run": uuid4().hex, "task": "compact", "table": table.address}),
        table_engine(
            workspace.settings,
            storage,
            spark,
            on_spark=on_spark,
            what=f"the compaction of {table.address}",
            file=next((one.uri for one in table.state().files), None) if on_spark else None,
        ) as engine,
    ):
        return retry(lambda: run.attempt(engine), what=f"the compaction of {table.address}")


@dataclass(frozen=True)
class _Run:
    """One compaction between its attempts."""

    target: Target
    storage: Storage
    target_size: int
    period: str | None
    sort_by: tuple[str, ...]
    history: SchemaHistory

    def state(self) -> TableState:
        state = self.target.state()
        if not state.exists:
            raise no_such_table(self.target.address)
        return state

    def plan(self, state: TableState) -> CompactPlan:
        order = _order(self.target.address, self.sort_by, state, in_path=self.target.capabilities.partition_in_path)
        order = order or tuple(key.column for key in state.order)
        files = state.files if self.period is None else _of_period(self.target.address, state, self.period)
        # A file of an earlier partitioning may hold rows of several partitions of today: it stays where it is.
        today = {fold(name) for name in state.partition_by}
        small = [
            file
            for file in files
            if file.rows
            and file.size_bytes < LARGE_ENOUGH * self.target_size
            and {fold(name) for name in file.partition} == today
        ]
        if order:
            small = sorted(with_bounds(small, self.storage, order[:1]), key=lambda file: _lowest(file, order[0]))
        return CompactPlan(
            _packs(small, self.target_size), len(state.files), sum(file.size_bytes for file in state.files)
        )

    def attempt(self, engine: Engine) -> CompactResult:
        state = self.state()
        self.history.complete(state)
        plan = self.plan(state)
        if not plan.packs:
            return _result(self.target, plan, dry_run=False)
        change = _in_history(plan)
        evolution = plan_evolution(state.schema, state.schema, Policy(rules=self.target.capabilities.rules))
        staging = self.target.stage(state, evolution)
        try:
            order = tuple(SortKey(name) for name in _spelled(state.schema, self.sort_by)) or state.order
            done = engine.compact(CompactJob(plan.packs, staging, order))
            pass_checkpoint("files written")
            _require_same_rows(self.target.address, plan, done)
            written = tuple(file for one in done for file in one.files)
            properties = {
                "lakebed.operation": "compact",
                "lakebed.compact.files-before": str(len(plan.leaving)),
                "lakebed.compact.files-after": str(len(written)),
                **(told_properties([change], place) if (place := self.history.ledger_place) is not None else {}),
            }
            commit = self.target.commit(state, staging, Change(evolution, written, plan.leaving, properties=properties))
        except BaseException:
            self.target.abandon(staging)
            raise
        self.history.record_changes([change], commit.version)
        bytes_after = plan.size_bytes + sum(file.size_bytes for file in written)
        bytes_after -= sum(file.size_bytes for file in plan.leaving)
        return _result(self.target, plan, dry_run=False, bytes_after=bytes_after, version=commit.version)


def parse_size(size: str | int) -> int:
    """A number of bytes: 256MB, 1.5 GiB, 1000000. Letters stand for powers of 1024.

    >>> parse_size("256MB")
    268435456
    """
    if isinstance(size, int) and size > 0:
        return size
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*", str(size), re.IGNORECASE)
    number = int(float(found[1]) * _UNITS[found[2].lower()]) if found else 0
    if number <= 0:
        raise ConfigError(f"{size!r} is not a size", remedy="Write it like 256MB, 1GB or 64MiB.")
    return number


def _packs(files: Sequence[DataFile], target_size: int) -> tuple[tuple[DataFile, ...], ...]:
    """Files of one partition together, as many as fit; one alone stays as it is."""
    by_partition: dict[tuple[object, ...], list[list[DataFile]]] = {}
    sizes: dict[tuple[object, ...], int] = {}
    for file in files:
        key = (*sorted(file.partition.items()), file.partition_key)
        packs = by_partition.setdefault(key, [])
        if packs and sizes[key] + file.size_bytes <= target_size:
            packs[-1].append(file)
            sizes[key] += file.size_bytes
        else:
            packs.append([file])
            sizes[key] = file.size_bytes
    return tuple(tuple(pack) for packs in by_partition.values() for pack in packs if len(pack) > 1)


def _of_period(address: str, state: TableState, period: str) -> tuple[DataFile, ...]:
    if not any(fold(name) == PERIOD for name in state.partition_by):
        raise ConfigError(
            f"{address} is not partitioned by {PERIOD}, so one month of it has no files of its own",
            remedy="Leave period out: the whole table is compacted.",
        )
    return tuple(file for file in state.files if file.partition.get(PERIOD) == period)


def _order(address: str, sort_by: Sequence[str], state: TableState, *, in_path: bool) -> tuple[str, ...]:
    """The columns to sort by, as the table spells them; refused where a column is not there or has no order."""
    for name in sort_by:
        if name not in state.schema:
            raise ConfigError(
                f"{address} has no column {name} to sort by",
                remedy=f"Its columns: {', '.join(state.schema.names[:20])}.",
            )
        if isinstance(state.schema[name].type, Struct | List | Map):
            raise ConfigError(
                f"{name} is {state.schema[name].type}, which has no order", remedy="Sort by single values."
            )
        if in_path and fold(name) in {fold(one) for one in state.partition_by}:
            raise ConfigError(
                f"{address} is partitioned by {name}: all rows of a file have one value of it",
                remedy="Sort by another column.",
            )
    return _spelled(state.schema, sort_by)


def _spelled(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(schema[name].name for name in names)


def _lowest(file: DataFile, column: str) -> tuple[bool, str, object]:
    """Files in the order of their smallest values, those that say none last; text of a type apart from other types."""
    bounds = file.bounds.get(column)
    low = None if bounds is None else bounds.minimum
    return (low is None, "" if low is None else type(low).__name__, 0 if low is None else low)


def _require_same_rows(address: str, plan: CompactPlan, done: Sequence[Compacted]) -> None:
    """Nothing is committed that does not hold, pack by pack, what was read."""
    if len(done) != len(plan.packs):
        raise EngineError(f"{len(done)} of {len(plan.packs)} packs of {address} were written; nothing was committed")
    for pack, one in zip(plan.packs, done, strict=True):
        planned = sum(file.rows for file in pack)
        if one.before != one.after or one.before.rows != planned:
            raise EngineError(
                f"{len(pack)} files of {address} hold {planned} rows, {one.before.rows} were read and "
                f"{one.after.rows} written{_differing(one)}",
                remedy="Nothing was committed. Please report this with the files that caused it.",
            )


def _differing(one: Compacted) -> str:
    sums: list[tuple[str, Mapping[str, object], Mapping[str, object]]] = [
        ("sum", one.before.sums, one.after.sums),
        ("NULLs", one.before.nulls, one.after.nulls),
    ]
    told = [
        f"; the {what} of {name} changed from {before.get(name)} to {after.get(name)}"
        for what, before, after in sums
        for name in before
        if before[name] != after.get(name)
    ]
    return "".join(told[:3])


def _in_history(plan: CompactPlan) -> SchemaChange:
    after = plan.files - len(plan.leaving) + len(plan.packs)
    return SchemaChange("compacted", "files", str(after), type_before=str(plan.files))


def _result(
    target: Target,
    plan: CompactPlan,
    *,
    dry_run: bool,
    bytes_after: int | None = None,
    version: str | None = None,
) -> CompactResult:
    gone, come = len(plan.leaving), len(plan.packs)
    return CompactResult(
        table=target.address,
        files_before=plan.files,
        files_after=plan.files - gone + come,
        files_rewritten=gone,
        files_written=come,
        rows=plan.rows,
        bytes_before=plan.size_bytes,
        bytes_after=plan.size_bytes if not plan.packs else bytes_after,
        dry_run=dry_run,
        version=version,
    )
