"""What a write means, as a table: what is there, what comes, what is there then."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakebed.errors import AmbiguousColumnCase, LakebedError, SchemaIncompatible, SourceError
from lakebed.testing.rows import rows


@dataclass(frozen=True)
class WriteScenario:
    """One write; `removed` counts the rows that it takes away. A refusal leaves everything as it was."""

    name: str
    existing: pa.Table | None
    incoming: pa.Table
    expected: pa.Table = field(default_factory=lambda: pa.table({}))
    removed: int = 0
    added: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    refusal: type[LakebedError] | None = None
    said: str = ""

    def __str__(self) -> str:
        return self.name


def _replacing(**slice_: object) -> dict[str, Any]:
    return {"mode": "replace_slice", "slice": slice_}


OLD = rows("id day v", (1, "mon", "a"), (2, "tue", "b"), (3, "tue", "c"), (4, None, "d"))
TUESDAY = rows("id day v", (9, "tue", "z"))
MOMENT = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
STRUCT = {"s": pa.struct([("a", pa.int64())])}
WIDER_STRUCT = {"s": pa.struct([("a", pa.int64()), ("b", pa.string())])}

SCENARIOS = (
    WriteScenario("a table is created", None, OLD, OLD),
    WriteScenario("a table is created from nothing", None, OLD.slice(0, 0), OLD.slice(0, 0)),
    WriteScenario("rows are added", OLD, TUESDAY, pa.concat_tables([OLD, TUESDAY])),
    WriteScenario("equal rows are added again", TUESDAY, TUESDAY, pa.concat_tables([TUESDAY, TUESDAY])),
    WriteScenario("no rows change nothing", OLD, OLD.slice(0, 0), OLD),
    WriteScenario(
        "a new column is NULL in old rows",
        rows("id v", (1, "a")),
        rows("id v w", (2, "b", 7)),
        rows("id v w", (1, "a", None), (2, "b", 7)),
        added=("w",),
    ),
    WriteScenario(
        "a column that the data lacks is NULL in new rows",
        rows("id v w", (1, "a", 7)),
        rows("id", (2,)),
        rows("id v w", (1, "a", 7), (2, None, None)),
    ),
    WriteScenario(
        "names are matched without regard to case and keep the table's spelling",
        rows("Id vAlue", (1, "a")),
        rows("VALUE ID", ("b", 2)),
        rows("Id vAlue", (1, "a"), (2, "b")),
    ),
    WriteScenario(
        "integers widen for the whole table",
        rows("id v:int32", (1, 1)),
        rows("id v:int64", (2, 2**40)),
        rows("id v:int64", (1, 1), (2, 2**40)),
    ),
    WriteScenario(
        "a narrower type fits",
        rows("id v:int64", (1, 2**40)),
        rows("id v:int32", (2, 2)),
        rows("id v:int64", (1, 2**40), (2, 2)),
    ),
    WriteScenario(
        "a date fits into moments, as the first of its day",
        rows("id t:us", (1, datetime(2026, 3, 29, 2, 30))),
        rows("id t:date", (2, date(2026, 3, 29)), (3, None)),
        rows("id t:us", (1, datetime(2026, 3, 29, 2, 30)), (2, datetime(2026, 3, 29)), (3, None)),
    ),
    WriteScenario(
        "a column of nothing fits any",
        rows("id v", (1, "a")),
        pa.table({"id": [2], "v": pa.nulls(1)}),
        rows("id v", (1, "a"), (2, None)),
    ),
    WriteScenario(
        "a struct gains a field",
        rows("id s", (1, {"a": 1}), types=STRUCT),
        rows("id s", (2, {"a": 2, "b": "x"}), types=WIDER_STRUCT),
        rows("id s", (1, {"a": 1, "b": None}), (2, {"a": 2, "b": "x"}), types=WIDER_STRUCT),
        added=("s.b",),
    ),
    WriteScenario(
        "a type that does not fit is refused",
        rows("id v", (1, "a")),
        pa.table({"id": [2], "v": [date(2026, 11, 1)]}),
        refusal=SchemaIncompatible,
        said="column v is text in the table and date in the new data",
    ),
    WriteScenario(
        "a type that does not fit gets a column of its own where asked",
        rows("id v", (1, "a")),
        pa.table({"id": [2], "v": [date(2026, 11, 1)]}),
        pa.table({"id": [1, 2], "v": ["a", None], "v__date": [None, date(2026, 11, 1)]}),
        added=("v__date",),
        options={"on_conflict": "variant"},
    ),
    WriteScenario(
        "columns that differ only in case are refused",
        OLD,
        pa.table({"id": [1], "ID": [2]}),
        refusal=AmbiguousColumnCase,
        said="the source has columns that differ only in case",
    ),
    WriteScenario(
        "odd names are ordinary columns",
        pa.table({"id": [1], "a.b": ["x"], "select": ["y"], "with space": ["z"], "it's": [1]}),
        pa.table({"id": [2], "a.b": ["x"], "select": ["Y"], "with space": ["Z"], "it's": [2]}),
        pa.table({"id": [2], "a.b": ["x"], "select": ["Y"], "with space": ["Z"], "it's": [2]}),
        removed=1,
        options={"mode": "replace_slice", "slice": {"A.B": "x"}},
    ),
    WriteScenario(
        "a slice is replaced and nothing else",
        OLD,
        TUESDAY,
        rows("id day v", (1, "mon", "a"), (4, None, "d"), (9, "tue", "z")),
        removed=2,
        options=_replacing(day="tue"),
    ),
    WriteScenario(
        "a slice that holds nothing yet is filled",
        OLD,
        rows("id day v", (9, "sun", "z")),
        pa.concat_tables([OLD, rows("id day v", (9, "sun", "z"))]),
        options=_replacing(Day="sun"),
    ),
    WriteScenario(
        "a slice is emptied by no rows",
        OLD,
        TUESDAY.slice(0, 0),
        rows("id day v", (1, "mon", "a"), (4, None, "d")),
        removed=2,
        options=_replacing(day="tue"),
    ),
    WriteScenario(
        "NULL is a value of a slice",
        OLD,
        rows("id day:text v", (9, None, "z")),
        rows("id day v", (1, "mon", "a"), (2, "tue", "b"), (3, "tue", "c"), (9, None, "z")),
        removed=1,
        options=_replacing(day=None),
    ),
    WriteScenario(
        "a slice of several columns, of which one is NULL",
        rows("id day v", (1, "tue", None), (2, "tue", "b"), (3, "mon", None)),
        rows("id day v:text", (9, "tue", None)),
        rows("id day v", (2, "tue", "b"), (3, "mon", None), (9, "tue", None)),
        removed=1,
        options=_replacing(day="tue", v=None),
    ),
    WriteScenario(
        "a slice and its schema change are one",
        rows("id day v:int32", (1, "mon", 1), (2, "tue", 2)),
        rows("ID DAY v:int64 tag", (9, "tue", 2**40, "x")),
        rows("id day v:int64 tag", (1, "mon", 1, None), (9, "tue", 2**40, "x")),
        removed=1,
        added=("tag",),
        options=_replacing(day="tue"),
    ),
    WriteScenario(
        "a column that comes with the data can be the slice",
        rows("id", (1,)),
        rows("id region", (2, "eu")),
        rows("id region", (1, None), (2, "eu")),
        added=("region",),
        options=_replacing(region="eu"),
    ),
    WriteScenario(
        "rows outside of the slice are refused",
        OLD,
        pa.concat_tables([TUESDAY, rows("id day v", (8, "wed", "y"), (7, None, "x"))]),
        options=_replacing(day="tue"),
        refusal=SourceError,
        said="2 of 3 rows do not belong to the slice day = tue; the first has day = wed",
    ),
    WriteScenario(
        "data without the slice's column is refused",
        OLD,
        rows("id v", (9, "z")),
        options=_replacing(day="tue"),
        refusal=SourceError,
        said="the first has day = NULL",
    ),
    WriteScenario(
        "a whole number is a slice, also as text",
        rows("n v", (1, "a"), (2, "b"), (10, "c")),
        rows("n v", (2, "z")),
        rows("n v", (1, "a"), (2, "z"), (10, "c")),
        removed=1,
        options=_replacing(n="2"),
    ),
    WriteScenario(
        "a decimal is a slice",
        rows("n:dec9_2 v", ("1.50", "a"), ("2.50", "b")),
        rows("n:dec9_2 v", ("1.50", "z")),
        rows("n:dec9_2 v", ("1.50", "z"), ("2.50", "b")),
        removed=1,
        options=_replacing(n=Decimal("1.5")),
    ),
    WriteScenario(
        "a day is a slice",
        rows("n v:date", (1, date(2026, 11, 1)), (2, date(2026, 11, 2)), (3, None)),
        rows("n v:date", (9, date(2026, 11, 1))),
        rows("n v:date", (9, date(2026, 11, 1)), (2, date(2026, 11, 2)), (3, None)),
        removed=1,
        options=_replacing(v="2026-11-01"),
    ),
    WriteScenario(
        "a moment is a slice",
        rows("n v:utc", (1, MOMENT), (2, MOMENT.replace(hour=13))),
        rows("n v:utc", (9, MOMENT)),
        rows("n v:utc", (9, MOMENT), (2, MOMENT.replace(hour=13))),
        removed=1,
        options=_replacing(v=MOMENT),
    ),
    WriteScenario(
        "a flag and a floating number are a slice",
        rows("n v:bool w:double", (1, True, 0.1), (2, False, 0.1), (3, True, float("nan"))),
        rows("n v:bool w:double", (9, True, 0.1)),
        rows("n v:bool w:double", (9, True, 0.1), (2, False, 0.1), (3, True, float("nan"))),
        removed=1,
        options=_replacing(v=True, w=0.1),
    ),
    WriteScenario("all rows are replaced", OLD, TUESDAY, TUESDAY, removed=4, options={"mode": "overwrite"}),
    WriteScenario(
        "columns outlive an overwrite",
        OLD,
        rows("id", (9,)),
        rows("id day:text v:text", (9, None, None)),
        removed=4,
        options={"mode": "overwrite"},
    ),
    WriteScenario(
        "columns outlive an overwrite by nothing",
        OLD,
        OLD.slice(0, 0),
        OLD.slice(0, 0),
        removed=4,
        options={"mode": "overwrite"},
    ),
)
