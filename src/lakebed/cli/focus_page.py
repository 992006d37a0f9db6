"""The page about FOCUS: what it is made of, from the mapping itself."""

from lakebed.finops.focus_mapping import ADDED_IN_1_3, FOCUS_1_2, OF_AWS, FocusColumn
from lakebed.finops.focus_plan import focus_sources

_HEAD = """# FOCUS

`lakebed focus` writes a loaded bill (CUR, CUR 2.0, or a table that has seen both) as FOCUS 1.2, the FinOps
Foundation's format, into another table:

```
lakebed focus duckdb:costs.duckdb#report --to duckdb:costs.duckdb#focus
lakebed focus iceberg:billing.report --to iceberg:billing.focus              # on Spark
lakebed focus duckdb:costs.duckdb#report --print --dialect trino             # the SELECT alone
```

Each month of each payer and report is one commit. A month whose delivery the other table holds already is left, a
restated one is replaced; `--redo` writes all again, and so does a table that lacks a column of the version that is
asked for. A bill in DuckDB is turned by DuckDB, in this process; any other on Spark (`spark=`, `--master`,
`--remote`, else `local[*]`). Both write the same rows. `--focus-version 1.3` adds the columns of 1.3; AWS itself
exports 1.0 and 1.2.

## What becomes of a line

| class | lines | rows |
|---|---|---|
| kept | all others | one |
| split | `RIFee`, `SavingsPlanRecurringFee` | two: the purchase, and what was not used |
| netted | `SavingsPlanNegation` | none |

A purchase of a commitment has no effective cost, and its second row, usage that is `Unused`, no billed cost.
Covered usage has no billed cost either: that is what a negation takes back. So, to the last digit: per invoice,
`BilledCost` and `x_MarketplaceCost` together are the bill (what a marketplace seller invoices has no `BilledCost`);
per commitment, `EffectiveCost` of usage is what was used and what was not. `tests/finops/test_focus.py` shows both,
that every line is in one class, that CUR and CUR 2.0 give equal rows, and that DuckDB and Spark do.

The Foundation's `focus-validator` 2.2.1 (model 1.2.0.1) passes all rules but four, which its model has otherwise
than their own text: `CommitmentDiscountStatus-C-004-C` and `CapacityReservationStatus-C-004-C` (conditions turned
round or not heeded), `InvoiceId-C-004-C` (no condition; its sibling demands the opposite), and
`EffectiveCost-C-005-C` (meant for commitments, applied to every purchase: a support fee has an effective cost).
`tests/finops/test_focus_validator.py` holds that list.

`lakebed focus TABLE --print | lakebed lineage - --dialect duckdb --schema duckdb:costs.duckdb` traces every column
to those of the bill; `--json` has, as `originals`, the names of the source's own files behind each.

## The mapping

On the word of: *FOCUS*, the specification and its notes on AWS; *AWS*, its data dictionary; *derived*, our reading
where neither says it. Columns are named as in CUR 2.0 and Athena.
"""


def focus_page(note: str) -> str:
    """The whole page."""
    parts = [
        note,
        f"{_HEAD}\n{_table(FOCUS_1_2)}",
        "### Columns of our own\n\n" + _table(OF_AWS),
        "Besides, `lakebed_payer`, `lakebed_report`, `lakebed_period` and `lakebed_delivery`, by which months are\n"
        "replaced. AWS's `x_Discounts` is not written.",
        "### Added in 1.3\n\n" + _table(ADDED_IN_1_3),
    ]
    return "\n\n".join(parts) + "\n"


def _table(columns: tuple[FocusColumn, ...]) -> str:
    rows = "\n".join(
        f"| {column.name} | {_from(column)} | {column.reason or 'as it is'} | {column.authority} |"
        for column in columns
    )
    return f"| column | made of | why | on the word of |\n|---|---|---|---|\n{rows}"


def _from(column: FocusColumn) -> str:
    if column.expression is None:
        return "NULL"
    return ", ".join(f"`{name}`" for name in focus_sources(column.output)) or f"`{column.expression}`"
