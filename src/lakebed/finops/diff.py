"""`lakebed diff`: why a month differs between two deliveries, in parts that add up to the difference.

Line item ids are not stable over deliveries, so that rows cannot be joined: both sides are summed up by the same
columns, and the sums are compared.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypeAlias

from lakebed.engines.protocols.load import Engine
from lakebed.errors import ConfigError, EngineError, NotFound
from lakebed.finops.group_words import GroupColumn, find_group_columns
from lakebed.finops.source_side import SourceSide, convert_source, looks_like_source
from lakebed.finops.sums import by_currency, sum_columns
from lakebed.kernels.values import EXACT
from lakebed.model import GroupTotals, Slice, Totals
from lakebed.pipeline.plan import find_currency_column
from lakebed.schema.types import Schema
from lakebed.source.filters import DiscoverFilters
from lakebed.table.as_of import HeldRows, TableLoads, gone_error
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import TableLike, open_table
from lakebed.table.session_engine import table_engine
from lakebed.table.slice_totals import totals_of_rows
from lakebed.targets.load_log import LoggedLoad
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PartKind: TypeAlias = Literal["came", "went", "changed"]
_NOTHING = GroupTotals(0)


@dataclass(frozen=True)
class DiffSide:
    """One of the two deliveries: rows and sums by currency. Without a delivery there was nothing."""

    delivery: str | None
    loaded_at: datetime | None
    where: str | None
    rows: int
    sums: Mapping[str, Mapping[str, Decimal]]

    def to_dict(self) -> dict[str, object]:
        return {
            "delivery": self.delivery,
            "loadedAt": self.loaded_at,
            "from": self.where,
            "rows": self.rows,
            "byCurrency": {code: dict(sums) for code, sums in self.sums.items()},
        }


@dataclass(frozen=True)
class DiffPart:
    """A group of rows that came, went or changed; `values` are those of the columns that the months were grouped by."""

    kind: PartKind
    values: tuple[str | None, ...]
    currency: str
    before: GroupTotals
    after: GroupTotals

    @property
    def rows(self) -> int:
        """How many rows there are more."""
        return self.after.rows - self.before.rows

    def difference(self, column: str) -> Decimal:
        return _minus(self.after.sums.get(column), self.before.sums.get(column))

    def to_dict(self, by: Sequence[str], columns: Sequence[str]) -> dict[str, object]:
        return {
            "kind": self.kind,
            "values": dict(zip(by, self.values, strict=True)),
            "currency": self.currency,
            "rowsBefore": self.before.rows,
            "rowsAfter": self.after.rows,
            "before": {name: self.before.sums.get(name, Decimal(0)) for name in columns},
            "after": {name: self.after.sums.get(name, Decimal(0)) for name in columns},
            "difference": {name: self.difference(name) for name in columns},
        }


@dataclass(frozen=True)
class Diff:
    """Why a month differs. `parts` and `remainder` together are the difference, to the last digit.

    The remainder is what none of the columns explains: rows that have no value in any of them. Groups that are equal on
    both sides are counted only.
    """

    table: str
    slice: Slice
    before: DiffSide
    after: DiffSide
    by: tuple[str, ...]
    originals: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]
    parts: tuple[DiffPart, ...]
    remainder: tuple[DiffPart, ...]
    unchanged: int
    warnings: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """No group has other rows or other sums."""
        return not self.parts and not self.remainder

    @property
    def difference(self) -> dict[str, dict[str, Decimal]]:
        """What the later side has more than the earlier, by currency and column."""
        return {
            code: {
                name: _minus(self.after.sums.get(code, {}).get(name), self.before.sums.get(code, {}).get(name))
                for name in self.columns
            }
            for code in sorted({*self.before.sums, *self.after.sums})
        }

    def to_dict(self) -> dict[str, object]:
        return {
            "table": self.table,
            "payer": self.slice.payer,
            "report": self.slice.report,
            "period": self.slice.period,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "rows": self.after.rows - self.before.rows,
            "difference": self.difference,
            "equal": self.equal,
            "by": [{"word": word, "columns": list(self.originals[word])} for word in self.by],
            "columns": list(self.columns),
            "parts": [part.to_dict(self.by, self.columns) for part in self.parts],
            "remainder": [part.to_dict(self.by, self.columns) for part in self.remainder],
            "unchangedGroups": self.unchanged,
            "warnings": list(self.warnings),
        }


def diff(
    target: TableLike,
    *,
    period: str,
    from_: str | None = None,
    to: str | os.PathLike[str] | None = None,
    by: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    report: str | None = None,
    payer: str | None = None,
    spark: "SparkSession | None" = None,
    master: str | None = None,
    remote: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
) -> Diff:
    """Says why a month differs between two deliveries: groups that came, went and changed, the largest first.

    Without `from_` and `to`, the loaded delivery is compared with the one that it replaced, which must have been
    retained. `to` may be a source: then the delivery that it holds is converted as a load would, and nothing is written
    to the table. `by` are words (`account`, `service`, `line_item_type`, `region`, ..., `tag:NAME`) or columns, and
    `columns` the numbers that are compared: the cost, if none is named. The parts and the remainder add up to the
    difference exactly. It is counted in this process, or on Spark where `spark`, `master` or `remote` say which.

    >>> found = lakebed.diff("iceberg:billing.cur", period="2026-09", by=["account", "tag:team"])  # doctest: +SKIP
    >>> [(part.kind, part.values) for part in found.parts]  # doctest: +SKIP
    [('came', ('111122223333', 'blue')), ('changed', ('444455556666', 'green'))]
    """
    opened = open_table(target, workdir=workdir, read_only=True)
    workspace = Workspace.open(
        {"workdir": None if workdir is None else os.fspath(workdir), "master": master, "remote": remote}
    )
    on_spark = spark is not None or master is not None or remote is not None
    filters = DiscoverFilters(report, payer, period)
    storage, what = storage_of(opened, workspace.storage), f"the difference of {opened.address}"
    with workspace.ledger_for_reading() as ledger:
        loads = TableLoads.of(opened, ledger)
        slices = [slice_ for slice_ in sorted(loads.log.current) if filters.wants(slice_)]
        given = None if to is None else os.fspath(to)
        work = workspace.settings.new_work_folder("write")
        from_source = given is not None and looks_like_source(given, loads.log)
        with table_engine(
            workspace.settings, storage, spark, on_spark=on_spark, what=what, file=work if from_source else None
        ) as engine:
            if not from_source:
                slice_ = _only(slices, opened.address, period)
                before, after = _two_loads(loads, slice_, from_, given)
                return _compare(loads, slice_, _rows(loads, before), _rows(loads, after), by, columns, engine)
            assert given is not None
            with convert_source(workspace, ledger, opened, given, filters, engine, work) as side:
                held = loads.log.current.get(side.delivery.slice)
                earlier = _named(loads, side.delivery.slice, from_) if from_ is not None else held
                rows = _rows(loads, earlier)
                return _compare(loads, side.delivery.slice, rows, side, by, columns, engine)


def _only(slices: Sequence[Slice], table: str, period: str) -> Slice:
    if not slices:
        raise NotFound(
            f"{table} holds nothing of {period}", uri=table, remedy="`lakebed sums` lists the months of a table."
        )
    if len(slices) > 1:
        raise ConfigError(
            f"{table} has {len(slices)} bills of {period}: {', '.join(map(str, slices))}",
            remedy="Choose one with --report and --payer.",
        )
    return slices[0]


def _two_loads(
    loads: TableLoads, slice_: Slice, from_: str | None, to: str | None
) -> tuple[LoggedLoad | None, LoggedLoad]:
    after = loads.log.current[slice_] if to is None else _named(loads, slice_, to)
    if from_ is not None:
        return _named(loads, slice_, from_), after
    earlier = [one for one in loads.log.loads[: loads.log.loads.index(after)] if one.slice == slice_]
    before = next((one for one in reversed(earlier) if one.delivery != after.delivery), None)
    if before is None:
        raise NotFound(
            f"{loads.target.address} knows no delivery of {slice_} before {after.delivery}",
            uri=loads.target.address,
            remedy="Compare it with a source before it is loaded: --to SOURCE.",
        )
    return before, after


def _named(loads: TableLoads, slice_: Slice, delivery: str) -> LoggedLoad:
    of_slice = [one for one in loads.log.loads if one.slice == slice_ and one.delivery is not None]
    found = [one for one in of_slice if one.delivery == delivery]
    if not found:
        known = ", ".join(dict.fromkeys(str(one.delivery) for one in of_slice)) or "none"
        raise NotFound(
            f"{loads.target.address} never held a delivery {delivery} of {slice_}",
            uri=loads.target.address,
            remedy=f"It knows: {known}. A source is written as a path or a URL.",
        )
    return found[-1]


def _rows(loads: TableLoads, load: LoggedLoad | None) -> HeldRows | None:
    return None if load is None or load.delivery is None else loads.rows_of(load)


def _compare(
    loads: TableLoads,
    slice_: Slice,
    before: HeldRows | None,
    after: "HeldRows | SourceSide | None",
    by: Sequence[str] | None,
    columns: Sequence[str] | None,
    engine: Engine,
) -> Diff:
    schema = after.schema if isinstance(after, SourceSide) else loads.target.state().schema
    table = loads.target.address
    summed = sum_columns(schema, columns, table=table)
    groups = find_group_columns(schema, by, table=table)
    sides = [_side(one, schema, summed, groups, engine) for one in (before, after)]
    (told_before, counted_before), (told_after, counted_after) = sides
    parts = [*_parts(counted_before, counted_after, summed)]
    unexplained = [part for part in parts if groups and not any(part.values)]
    done = Diff(
        table,
        slice_,
        told_before,
        told_after,
        tuple(group.word for group in groups),
        {group.word: group.originals for group in groups},
        summed,
        tuple(part for part in parts if part not in unexplained),
        tuple(unexplained),
        len({*counted_before.groups, *counted_after.groups}) - len(parts),
        tuple(_warnings(groups, counted_before, counted_after, after)),
    )
    _require_whole(done)
    return done


def _side(
    rows: "HeldRows | SourceSide | None",
    schema: Schema,
    columns: Sequence[str],
    groups: Sequence[GroupColumn],
    engine: Engine,
) -> tuple[DiffSide, Totals]:
    currency, keys = find_currency_column(schema), tuple(group.key for group in groups)
    if rows is None:
        return DiffSide(None, None, None, 0, {}), Totals(0)
    if isinstance(rows, SourceSide):
        counted = rows.count(columns, currency, keys, engine)
        return DiffSide(rows.delivery.id, None, rows.source, counted.rows, by_currency(counted)), counted
    try:
        counted = totals_of_rows(rows.target, rows.slice, columns, currency=currency, engine=engine, by=keys)
    except NotFound as gone:
        raise gone_error(rows, gone) from gone
    rows.require_rows(counted.rows)
    return DiffSide(rows.load.delivery, rows.load.at, rows.where, counted.rows, by_currency(counted)), counted


def _parts(before: Totals, after: Totals, columns: Sequence[str]) -> list[DiffPart]:
    found = []
    for key in {*before.groups, *after.groups}:
        old, new = before.groups.get(key, _NOTHING), after.groups.get(key, _NOTHING)
        if old == new:
            continue
        kind: PartKind = "came" if key not in before.groups else "went" if key not in after.groups else "changed"
        found.append(DiffPart(kind, key[1:], key[0] or "", old, new))
    return sorted(
        found,
        key=lambda part: (
            -abs(part.difference(columns[0])),
            -abs(part.rows),
            part.currency,
            tuple(value or "" for value in part.values),
        ),
    )


def _warnings(
    groups: Sequence[GroupColumn], before: Totals, after: Totals, source: "HeldRows | SourceSide | None"
) -> Iterator[str]:
    keys = {*before.groups, *after.groups}
    for place, group in enumerate(groups, start=1):
        if keys and not any(key[place] for key in keys):
            yield f"no row of either side has a value for {group.word}"
    if isinstance(source, SourceSide):
        yield from source.warnings


def _require_whole(done: Diff) -> None:
    """The parts were grouped and the two sums were not: they must say the same."""
    for code, sums in done.difference.items():
        for name, difference in sums.items():
            total = Decimal(0)
            for part in (*done.parts, *done.remainder):
                if part.currency == code:
                    total = EXACT.add(total, part.difference(name))
            if total != difference:
                raise EngineError(
                    f"the parts of {name} sum up to {total:f} {code}, and the difference is {difference:f}",
                    remedy="This is a defect of Lakebed: please report it.",
                )
    if sum(part.rows for part in (*done.parts, *done.remainder)) != done.after.rows - done.before.rows:
        raise EngineError("the rows of the parts are not those of the difference", remedy="Please report it.")


def _minus(after: Decimal | None, before: Decimal | None) -> Decimal:
    return EXACT.subtract(after or Decimal(0), before or Decimal(0))
