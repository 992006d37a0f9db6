"""What the ledger and the tables say: deliveries and loads, their sums, and the changes of a table's columns."""

from dataclasses import dataclass

import lakebed
from lakebed.errors import NotFound
from lakebed.model import Slice
from lakebed.pipeline.settings import open_workspace
from lakebed.pipeline.tables import parse_target
from lakebed.ui.analyses import Sources


@dataclass(frozen=True, slots=True)
class LoadSum:
    """One sum of a load as its reconciliation left it; numbers are text, so that no digit is lost."""

    column: str
    # None for the sum over all currencies, empty for rows that name none
    currency: str | None
    source: str
    table: str
    rounded: str
    difference: str


@dataclass(frozen=True, slots=True)
class LoadSums:
    """The reconciliation of a load: its rows, and every sum of it."""

    source_rows: int | None
    table_rows: int
    rejected_rows: int
    reconciled: bool | None
    sums: tuple[LoadSum, ...]


@dataclass(frozen=True, slots=True)
class TableList:
    """The tables that the explorer may look into: those of the ledger's loads, and that of --target."""

    tables: tuple[str, ...]


def read_status(sources: Sources) -> dict[str, object]:
    """Deliveries, loads and who works on them now, as `lakebed status --json` prints them."""
    return lakebed.status(workdir=sources.workdir).to_dict()


def known_tables(sources: Sources) -> TableList:
    """The addresses that may be asked for."""
    named = [load.table for load in lakebed.status(workdir=sources.workdir).loads]
    if sources.target is not None and parse_target(sources.target).names_table:
        named.append(str(parse_target(sources.target)))
    return TableList(tuple(dict.fromkeys(named)))


def require_table(sources: Sources, table: str) -> str:
    """The address, where it is one of those that may be asked for: no request opens another file."""
    if table not in known_tables(sources).tables:
        raise NotFound(
            f"the ledger knows no table {table}", uri=table, remedy="Load into it, or start the explorer with --target."
        )
    return table


def read_history(sources: Sources, table: str) -> dict[str, object]:
    """The changes of a table's columns and its snapshots, as `lakebed history --json` prints them."""
    return lakebed.history(require_table(sources, table), workdir=sources.workdir).to_dict()


def read_sums(sources: Sources, table: str, slice_: Slice, delivery: str) -> LoadSums:
    """What the reconciliation of a load found."""
    with open_workspace(sources.workdir, {}).ledger_for_reading() as ledger:
        load = next(
            (one for one in ledger.loads(table) if one.slice == slice_ and one.delivery == delivery),
            None,
        )
        if load is None:
            raise NotFound(
                f"the ledger knows no load of {slice_}, delivery {delivery}, into {table}",
                uri=table,
                remedy="`lakebed status` lists the loads that it knows.",
            )
        sums = ledger.sums(table, slice_, delivery)
    return LoadSums(
        load.source_rows,
        load.rows,
        load.rejected_rows,
        load.reconciled,
        tuple(
            LoadSum(
                one.column,
                one.currency,
                format(one.source, "f"),
                format(one.table, "f"),
                format(one.rounded, "f"),
                format(one.table - one.source - one.rounded, "f"),
            )
            for one in sums
        ),
    )
