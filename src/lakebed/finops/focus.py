"""`lakebed focus`: a loaded bill as FOCUS, month by month, each in one commit."""

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa

from lakebed.engines.registry import require_engine
from lakebed.errors import ConfigError
from lakebed.finops.focus_mapping import FOCUS_VERSIONS, FocusVersion
from lakebed.finops.focus_plan import FocusPlan, focus_frame, plan_focus, write_focus
from lakebed.finops.projection import DIALECTS, Dialect, literal_text, write_expression, write_name
from lakebed.finops.views import default_relation, find_bill, table_name
from lakebed.model import PAYER, PERIOD, REPORT, Slice
from lakebed.state.rebuild import describe_table
from lakebed.storage import Storage
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, frame, open_table
from lakebed.table.write import write
from lakebed.targets.base import HoldsViews, Target
from lakebed.targets.shared.refusals import no_such_table
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What each month is asked for and written: rows from wherever an engine has them.
Rows: TypeAlias = Callable[[Slice], "DataFrame | pa.Table"]
Action: TypeAlias = Literal["written", "unchanged"]


@dataclass(frozen=True)
class FocusSlice:
    """A month of one payer and report: the delivery that its rows follow, and what was done."""

    payer: str
    report: str
    period: str
    delivery: str
    action: Action
    rows: int = 0  # that were written
    sums: dict[str, Decimal] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        return {
            "payer": self.payer,
            "report": self.report,
            "period": self.period,
            "delivery": self.delivery,
            "action": self.action,
            "rows": self.rows,
            "sums": {name: format(amount, "f") for name, amount in self.sums.items()},
        }


@dataclass(frozen=True)
class FocusResult:
    """What became of a bill. `sql` is set where it was asked for, and then nothing was written.

    `originals` are, for each column of FOCUS, the names in the source's own files of what it is made of.
    """

    table: str
    to: str | None
    version: FocusVersion
    slices: tuple[FocusSlice, ...] = ()
    empty_columns: tuple[str, ...] = ()
    originals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sql: str | None = None

    def to_dict(self) -> dict[str, object]:
        result: dict[str, object] = {
            "table": self.table,
            "to": self.to,
            "version": self.version,
            "slices": [one.to_dict() for one in self.slices],
            "emptyColumns": list(self.empty_columns),
            "originals": {name: list(originals) for name, originals in self.originals.items()},
        }
        return result if self.sql is None else {**result, "sql": self.sql}


def focus(
    target: TableLike,
    *,
    to: TableLike | None = None,
    version: FocusVersion = "1.2",
    dialect: Dialect | None = None,
    relation: str | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    redo: bool = False,
    workdir: str | os.PathLike[str] | None = None,
) -> FocusResult:
    """Writes a table that was loaded from CUR or CUR 2.0 as FOCUS into another, month by month, each in one commit.

    A month whose delivery the other table holds already is left; a restated one is replaced; `redo` writes all again.
    A bill in DuckDB is turned by DuckDB, in this process; any other, and every one where `spark`, `master` or `remote`
    say which, on Spark. With `dialect` nothing is written: the result has the SELECT to run, over `relation`.

    >>> done = lakebed.focus("duckdb:costs.duckdb#report", to="parquet:focus")  # doctest: +SKIP
    >>> [(month.period, month.action) for month in done.slices]  # doctest: +SKIP
    [('2026-09', 'unchanged'), ('2026-10', 'written')]
    """
    if version not in FOCUS_VERSIONS:
        raise ConfigError(f"there is no FOCUS {version!r} here", remedy=f"Choose one of {', '.join(FOCUS_VERSIONS)}.")
    if dialect is not None and dialect not in DIALECTS:
        raise ConfigError(f"{dialect!r} is no dialect of FOCUS", remedy=f"Choose one of {', '.join(DIALECTS)}.")
    if (to is None) == (dialect is None):
        raise ConfigError(
            "where should FOCUS go?", remedy="Name a table with --to (to=), or print the SQL with --print (dialect=)."
        )
    source = open_table(target, workdir=workdir, read_only=True)
    if dialect is not None:
        plan = plan_focus(find_bill(source), version)
        sql = write_focus(plan, relation or default_relation(source, dialect), dialect)
        return FocusResult(source.address, None, version, (), plan.empty_columns, plan.originals, sql)
    assert to is not None
    workspace = Workspace.open(
        {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    )
    goal = open_table(to, workdir=workdir)
    if goal.address == source.address:
        raise ConfigError(f"{goal.address} is the bill itself", remedy="Name another table with --to.")
    on_spark = spark is not None or master is not None or remote is not None or not isinstance(source, HoldsViews)
    with ExitStack() as stack:
        session: SparkSession | None = None
        if on_spark:
            require_engine("spark", "FOCUS of a table in a lake")
            from lakebed.engines.spark.session import open_session

            session = stack.enter_context(open_session(workspace.settings, spark=spark)).spark
        plan, rows = _rows(source, session, workspace.storage, version)
        slices = [
            _write_slice(goal, plan, rows, slice_, delivery, session, workdir, current)
            for slice_, delivery, current in _slices(source, goal, plan, redo=redo)
        ]
    return FocusResult(source.address, goal.address, version, tuple(slices), plan.empty_columns, plan.originals)


def _rows(
    source: Target, session: "SparkSession | None", storage: Storage, version: FocusVersion
) -> tuple[FocusPlan, Rows]:
    if session is not None:
        every = frame(session, source, storage_of(source, storage).settings)
        plan = plan_focus(find_bill(source, every), version)
        return plan, lambda slice_: focus_frame(plan, every.where(write_expression(_condition(slice_), "spark")))
    plan = plan_focus(find_bill(source), version)
    assert isinstance(source, HoldsViews)
    database, relation = source, write_name(table_name(source), "duckdb")
    return plan, lambda slice_: database.query(write_focus(plan, relation, "duckdb", where=_condition(slice_)))


def _condition(slice_: Slice) -> str:
    """The rows of a slice, in the small SQL."""
    values = {PAYER: slice_.payer, REPORT: slice_.report, PERIOD: slice_.period}
    return " AND ".join(f"{name} = {literal_text(value)}" for name, value in values.items())


def _slices(source: Target, goal: Target, plan: FocusPlan, *, redo: bool) -> list[tuple[Slice, str, bool]]:
    """Every slice of the bill with its delivery, and whether the other table has it as it is now."""
    state = source.state()
    if not state.exists:
        raise no_such_table(source.address)
    there = goal.state()
    # A table that lacks a column was written for another version.
    whole = there.exists and all(name in there.schema for name in plan.focus.names)
    held = {load.slice: load.delivery for load in describe_table(goal, there).loads} if whole and not redo else {}
    return [
        (load.slice, load.delivery, held.get(load.slice) == load.delivery)
        for load in describe_table(source, state).loads
    ]


def _write_slice(
    goal: Target,
    plan: FocusPlan,
    rows: Rows,
    slice_: Slice,
    delivery: str,
    session: "SparkSession | None",
    workdir: str | os.PathLike[str] | None,
    current: bool,
) -> FocusSlice:
    if current:
        return FocusSlice(slice_.payer, slice_.report, slice_.period, delivery, "unchanged")
    written = write(
        rows(slice_),
        goal,
        mode="replace_slice",
        slice={PAYER: slice_.payer, REPORT: slice_.report, PERIOD: slice_.period},
        partition_by=None if goal.state().exists or not goal.capabilities.made_of_files else PERIOD,
        spark=session,
        workdir=workdir,
    )
    costs = {name: written.sums[name] for name in ("BilledCost", "EffectiveCost", "ListCost") if name in written.sums}
    return FocusSlice(slice_.payer, slice_.report, slice_.period, delivery, "written", written.rows, costs)
