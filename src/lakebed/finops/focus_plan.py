"""A bill as FOCUS: the steps of the mapping over the columns that a table has, as one SELECT or as Spark's frames."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one

from lakebed.finops.bill_columns import TAGS, BillColumns, original_names
from lakebed.finops.bill_views import plan_athena
from lakebed.finops.focus_mapping import CLASSED, NETTED, PRICED, SPLIT, FocusVersion, focus_projection
from lakebed.finops.projection import (
    Dialect,
    OutputColumn,
    Projection,
    column_text,
    literal_text,
    null_text,
    write_columns,
    write_expression,
    write_select,
)
from lakebed.model import RESERVED_COLUMNS
from lakebed.schema.types import Column, Map, Text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CATEGORIES = {"resourceTags/": "", "costCategory/": "costCategory/"}


@dataclass(frozen=True)
class FocusPlan:
    """What FOCUS is made of: `bill` reads the table, the other steps are the mapping."""

    version: FocusVersion
    bill: Projection
    focus: Projection

    @property
    def empty_columns(self) -> tuple[str, ...]:
        """Columns of FOCUS that are NULL in every row: CUR does not say them."""
        return self.focus.empty_columns

    @property
    def originals(self) -> dict[str, tuple[str, ...]]:
        """The columns of the source, by their original names, that each column of FOCUS is made of."""
        read = {column.name: column.originals for column in self.bill.columns}
        return {
            column.name: tuple(sorted({name for one in _bill_names(column) for name in read.get(one, ())}))
            for column in self.focus.columns
        }


def plan_focus(bill: BillColumns, version: FocusVersion) -> FocusPlan:
    """The plan for a table with these columns."""
    focus = focus_projection(version)
    read = {name for step in (CLASSED, PRICED, focus) for column in step.columns for name in _names(column.expression)}
    read |= {name for condition in (NETTED, SPLIT) for name in _names(condition)}
    columns = [column for column in plan_athena(bill).columns if column.name in read or column.name in RESERVED_COLUMNS]
    return FocusPlan(version, Projection((*columns, _tags(bill))), focus)


def _names(expression: str) -> set[str]:
    return {column.name for column in parse_one(expression, dialect="duckdb").find_all(exp.Column)}


def _tags(bill: BillColumns) -> OutputColumn:
    """Tags and cost categories in one map, each under the key that the report has for it."""
    entries: dict[str, str] = {}
    sources: list[Column] = []
    for found in bill.columns.values():
        for column in found:
            original = column.original or column.name
            for category, shown in _CATEGORIES.items():
                if original.startswith(category):
                    entries[shown + original.removeprefix(category)] = f"NULLIF({column_text(column.name)}, '')"
                    sources.append(column)
    for map_name, shown in ((TAGS, ""), ("cost_category", "costCategory/")):
        if (map_ := bill.maps.get(map_name)) is not None:
            sources.append(map_)
            for key in bill.keys.get(map_.name, ()):
                entries[shown + key] = f"NULLIF(BILL_ENTRY({column_text(map_.name)}, {literal_text(key)}), '')"
    if not entries:
        return OutputColumn("tags", Map(Text(), Text()), null_text(Map(Text(), Text())))
    gathered = ", ".join(f"{literal_text(key)}, {value}" for key, value in sorted(entries.items()))
    return OutputColumn("tags", Map(Text(), Text()), f"BILL_MAP({gathered})", original_names(sources))


def write_focus(plan: FocusPlan, relation: str, dialect: Dialect, *, where: str | None = None) -> str:
    """FOCUS as one SELECT over a table; `where`, in the small SQL, chooses rows of the table."""

    def more(step: Projection, source: str) -> str:
        lines = ",\n  ".join(write_columns(step, dialect))
        return f"SELECT *,\n  {lines}\nFROM {source}"

    netted, split = (write_expression(text, dialect) for text in (NETTED, SPLIT))
    steps = {
        "bill": write_select(plan.bill, relation, dialect, where=where),
        "charges": f"SELECT *, 'charge' AS part FROM bill WHERE NOT {netted}\nUNION ALL\n"
        f"SELECT *, 'unused' AS part FROM bill WHERE {split}",
        "classed": more(CLASSED, "charges"),
        "priced": more(PRICED, "classed"),
    }
    written = ",\n".join(f"{name} AS (\n{text}\n)" for name, text in steps.items())
    return f"WITH {written}\n{write_select(plan.focus, 'priced', dialect)}"


def focus_frame(plan: FocusPlan, rows: "DataFrame") -> "DataFrame":
    """FOCUS of the rows of a table, on Spark."""
    bill = rows.selectExpr(*write_columns(plan.bill, "spark"))
    netted, split = (write_expression(text, "spark") for text in (NETTED, SPLIT))
    charges = bill.where(f"NOT {netted}").selectExpr("*", "'charge' AS part")
    unused = bill.where(split).selectExpr("*", "'unused' AS part")
    frame = charges.unionByName(unused)
    for step in (CLASSED, PRICED):
        frame = frame.selectExpr("*", *write_columns(step, "spark"))
    return frame.selectExpr(*write_columns(plan.focus, "spark"))


def focus_sources(column: OutputColumn) -> tuple[str, ...]:
    """The columns of a bill, by AWS's names, that a column of FOCUS is made of."""
    names = set(_bill_names(column))
    return tuple(sorted(names - {"tags"} | ({TAGS, "cost_category"} if "tags" in names else set())))


def _bill_names(column: OutputColumn) -> set[str]:
    steps = {one.name: one.expression for step in (CLASSED, PRICED) for one in step.columns}
    found: set[str] = set()
    waiting = sorted(_names(column.expression))
    while waiting:
        name = waiting.pop()
        if name in steps:
            waiting += sorted(_names(steps[name]))
        elif name != "part":
            found.add(name)
    return found
