"""What a merge means, situation by situation: at least one scenario for each row of the table in docs/merge.md."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from lakebed.merge_core.spec import MergeStrategy
from lakebed.testing.rows import rows

NAN = float("nan")


@dataclass(frozen=True)
class Scenario:
    """A table, what arrives, and what is then there, or the kind of refusal.

    `counts` are inserted, updated and deleted rows. `expected` None means that there is no table afterwards.
    """

    name: str
    existing: pa.Table | None
    incoming: pa.Table
    expected: pa.Table | None = None
    counts: tuple[int, int, int] = (0, 0, 0)
    keys: tuple[str, ...] = ("id",)
    strategy: MergeStrategy = "upsert"
    refusal: str | None = None
    column: str | None = None
    count: int | None = None
    refused_keys: tuple[object, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.name.replace(" ", "-").replace("'", "")


OLD = rows("id v", (1, "a"), (2, "b"), (3, "c"))
NEW = rows("id v", (2, "B"), (4, "D"))
UPSERTED = rows("id v", (1, "a"), (2, "B"), (3, "c"), (4, "D"))
EMPTY_SOURCE = rows("id:int64 v:text")
MOMENT = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1, 12)


STRATEGIES = (
    Scenario("upsert updates and inserts", OLD, NEW, UPSERTED, (1, 1, 0)),
    Scenario(
        "insert leaves what is there",
        OLD,
        NEW,
        rows("id v", (1, "a"), (2, "b"), (3, "c"), (4, "D")),
        (1, 0, 0),
        strategy="insert",
    ),
    Scenario("update adds nothing", OLD, NEW, rows("id v", (1, "a"), (2, "B"), (3, "c")), (0, 1, 0), strategy="update"),
    Scenario(
        "full_merge deletes what the source lacks",
        OLD,
        NEW,
        rows("id v", (2, "B"), (4, "D")),
        (1, 1, 2),
        strategy="full_merge",
    ),
    Scenario("deduplicate without repeats is an upsert", OLD, NEW, UPSERTED, (1, 1, 0), strategy="deduplicate"),
    Scenario(
        "delete_insert replaces by key and keys may repeat",
        OLD,
        rows("id v", (2, "x"), (2, "y"), (4, "z")),
        rows("id v", (1, "a"), (3, "c"), (2, "x"), (2, "y"), (4, "z")),
        (3, 0, 1),
        strategy="delete_insert",
    ),
    Scenario(
        "delete_insert pads with NULL",
        rows("id v w", (1, "a", 1), (2, "b", 2)),
        rows("id v", (2, "x")),
        rows("id v w", (1, "a", 1), (2, "x", None)),
        (1, 0, 1),
        strategy="delete_insert",
    ),
    Scenario("a matched but equal row counts as updated", OLD, rows("id v", (2, "b")), OLD, (0, 1, 0)),
    Scenario("nothing matches and nothing is inserted", OLD, rows("id v", (9, "x")), OLD, (0, 0, 0), strategy="update"),
)

MISSING_AND_EMPTY = (
    *(
        Scenario(f"a missing target is created by {strategy}", None, NEW, NEW, (2, 0, 0), strategy=strategy)
        for strategy in ("upsert", "insert", "full_merge", "deduplicate", "delete_insert")
    ),
    Scenario("an update of a missing target is nothing", None, NEW, None, strategy="update"),
    Scenario("an update of an empty target is nothing", OLD.slice(0, 0), NEW, OLD.slice(0, 0), strategy="update"),
    Scenario("an upsert into an empty target inserts", OLD.slice(0, 0), NEW, NEW, (2, 0, 0)),
    *(
        Scenario(f"an empty source changes nothing by {strategy}", OLD, EMPTY_SOURCE, OLD, strategy=strategy)
        for strategy in ("upsert", "insert", "update", "deduplicate", "delete_insert")
    ),
    *(
        Scenario(f"an empty source creates nothing by {strategy}", None, EMPTY_SOURCE, None, strategy=strategy)
        for strategy in ("upsert", "full_merge")
    ),
    Scenario(
        "an empty source of a full_merge deletes all",
        OLD,
        EMPTY_SOURCE,
        OLD.slice(0, 0),
        (0, 0, 3),
        strategy="full_merge",
    ),
    Scenario(
        "an empty source is validated",
        OLD,
        rows("other:int64"),
        strategy="upsert",
        refusal="KEY_COLUMN_MISSING_SOURCE",
        column="id",
    ),
)

KEYS = (
    Scenario(
        "repeated source keys that match are refused",
        OLD,
        rows("id v", (2, "x"), (2, "y"), (1, "z")),
        refusal="DUPLICATE_SOURCE_KEYS",
        count=1,
        refused_keys=(2,),
    ),
    Scenario(
        "repeated source keys that are new are refused",
        OLD,
        rows("id v", (8, "x"), (8, "x"), (9, "y"), (9, "y")),
        refusal="DUPLICATE_SOURCE_KEYS",
        count=2,
        refused_keys=(8, 9),
    ),
    Scenario(
        "five repeated keys are shown",
        OLD,
        rows("id v", *((n // 2, "x") for n in range(14))),
        refusal="DUPLICATE_SOURCE_KEYS",
        count=7,
        refused_keys=(0, 1, 2, 3, 4),
    ),
    Scenario(
        "a missing target refuses repeated keys too",
        None,
        rows("id v", (8, "x"), (8, "y")),
        strategy="insert",
        refusal="DUPLICATE_SOURCE_KEYS",
        count=1,
        refused_keys=(8,),
    ),
    Scenario(
        "every row of a repeated target key is updated",
        rows("id v", (1, "a"), (2, "b"), (2, "b2")),
        rows("id v", (2, "B")),
        rows("id v", (1, "a"), (2, "B"), (2, "B")),
        (0, 2, 0),
    ),
    Scenario(
        "every row of a repeated target key is deleted",
        rows("id v", (1, "a"), (2, "b"), (2, "b2")),
        rows("id v", (2, "B")),
        rows("id v", (1, "a"), (2, "B")),
        (1, 0, 2),
        strategy="delete_insert",
    ),
    Scenario(
        "a NULL key in the source is refused",
        OLD,
        rows("id v", (None, "x"), (2, "y"), (None, "z")),
        refusal="NULL_KEY_SOURCE",
        column="id",
        count=2,
    ),
    Scenario(
        "NULL keys are counted before equal rows are dropped",
        OLD,
        rows("id v", (None, "x"), (2, "y"), (None, "x"), (2, "y")),
        strategy="deduplicate",
        refusal="NULL_KEY_SOURCE",
        column="id",
        count=2,
    ),
    Scenario(
        "a NULL key in the target is refused",
        rows("id v", (1, "a"), (None, "b")),
        NEW,
        refusal="NULL_KEY_TARGET",
        column="id",
        count=1,
    ),
    Scenario(
        "a NULL in one component is refused",
        rows("id k v", (1, "x", "a")),
        rows("id k v", (1, None, "b")),
        keys=("id", "k"),
        refusal="NULL_KEY_SOURCE",
        column="k",
        count=1,
    ),
    Scenario(
        "composite keys compare component by component",
        rows("a b v", ("x", "yz", 1), ("xy", "z", 2)),
        rows("a b v", ("xy", "z", 20), ("x", "y", 30)),
        rows("a b v", ("x", "yz", 1), ("xy", "z", 20), ("x", "y", 30)),
        (1, 1, 0),
        keys=("a", "b"),
    ),
    Scenario(
        "a composite key of three types",
        rows("a b c:date v", (1, "x", MOMENT.date(), 1.5)),
        rows("a b c:date v", (1, "x", MOMENT.date(), 2.5), (2, "x", MOMENT.date(), 3.5)),
        rows("a b c:date v", (1, "x", MOMENT.date(), 2.5), (2, "x", MOMENT.date(), 3.5)),
        (1, 1, 0),
        keys=("a", "b", "c"),
    ),
    Scenario(
        "NaN keys match and so do both zeros",
        rows("id:double v", (NAN, "a"), (-0.0, "b"), (1.0, "c")),
        rows("id:double v", (NAN, "A"), (0.0, "B")),
        rows("id:double v", (NAN, "A"), (0.0, "B"), (1.0, "c")),
        (0, 2, 0),
    ),
    Scenario(
        "a NaN key is found among numbers",
        rows("id:double v", (1.0, "a"), (NAN, "b"), (2.0, "c")),
        rows("id:double v", (NAN, "B")),
        rows("id:double v", (1.0, "a"), (NAN, "B"), (2.0, "c")),
        (0, 1, 0),
    ),
    Scenario(
        "two NaN of the source are one key twice",
        OLD.slice(0, 0).append_column("f", pa.array([], pa.float64())),
        rows("id v f:double", (1, "a", NAN), (2, "b", NAN)),
        keys=("f",),
        refusal="DUPLICATE_SOURCE_KEYS",
        count=1,
    ),
    Scenario(
        "int32 and int64 keys match by value",
        rows("id:int32 v", (1, "a"), (2, "b")),
        rows("id:int64 v", (2, "B"), (2**40, "C")),
        rows("id:int64 v", (1, "a"), (2, "B"), (2**40, "C")),
        (1, 1, 0),
    ),
    Scenario(
        "a narrower source key matches by value",
        rows("id:int64 v", (1, "a"), (2, "b")),
        rows("id:int8 v", (2, "B")),
        rows("id:int64 v", (1, "a"), (2, "B")),
        (0, 1, 0),
    ),
    Scenario(
        "decimal keys of other scale match by value",
        rows("id:dec18_6 v", ("1.5", "a"), ("2", "b")),
        rows("id:dec9_2 v", ("1.50", "A")),
        rows("id:dec18_6 v", ("1.5", "A"), ("2", "b")),
        (0, 1, 0),
    ),
    Scenario(
        "microseconds and nanoseconds match by value",
        rows("id:us v", (NAIVE, "a")),
        rows("id:ns v", (NAIVE, "A")),
        rows("id:ns v", (NAIVE, "A")),
        (0, 1, 0),
    ),
    Scenario(
        "an integer against a text key is refused",
        OLD,
        rows("id v", ("2", "B")),
        refusal="KEY_TYPE_MISMATCH",
        column="id",
    ),
    Scenario(
        "a key that the source lacks is refused",
        OLD,
        rows("v", ("x",)),
        refusal="KEY_COLUMN_MISSING_SOURCE",
        column="id",
    ),
    Scenario(
        "a key that the target lacks is refused",
        OLD,
        rows("id k v", (1, 1, "x")),
        keys=("k",),
        refusal="KEY_COLUMN_MISSING_TARGET",
        column="k",
    ),
    Scenario(
        "a boolean and a binary key",
        rows("id:bool b v", (True, b"x", 1), (False, b"x", 2)),
        rows("id:bool b v", (True, b"x", 10)),
        rows("id:bool b v", (True, b"x", 10), (False, b"x", 2)),
        (0, 1, 0),
        keys=("id", "b"),
    ),
    Scenario(
        "text keys of any script, and the empty one",
        rows("id v", ("", 1), ("ß", 2), ("👍", 3), ("a'b\"c", 4)),
        rows("id v", ("", 10), ("👍", 30), ("a'b\"c", 40), ("ss", 5)),
        rows("id v", ("", 10), ("ß", 2), ("👍", 30), ("a'b\"c", 40), ("ss", 5)),
        (1, 3, 0),
    ),
)

PARTS = rows("id p v", (1, "01", "a"), (2, "02", "b"), (3, None, "c"), (4, "01", "d"))

PARTITIONS = (
    Scenario(
        "partitions are kept and 01 stays text",
        PARTS,
        rows("id p v", (1, "01", "A"), (9, "03", "n")),
        rows("id p v", (1, "01", "A"), (2, "02", "b"), (3, None, "c"), (4, "01", "d"), (9, "03", "n")),
        (1, 1, 0),
        partition_by=("p",),
    ),
    Scenario(
        "a NULL partition is one too",
        PARTS,
        rows("id p v", (3, None, "C"), (9, None, "n")),
        rows("id p v", (1, "01", "a"), (2, "02", "b"), (3, None, "C"), (4, "01", "d"), (9, None, "n")),
        (1, 1, 0),
        partition_by=("p",),
    ),
    Scenario(
        "a changed partition value moves the row",
        PARTS,
        rows("id p v", (1, "02", "A"), (2, None, "B"), (3, "07", "C")),
        rows("id p v", (1, "02", "A"), (2, None, "B"), (3, "07", "C"), (4, "01", "d")),
        (0, 3, 0),
        partition_by=("p",),
    ),
    Scenario(
        "a partition column may be a key",
        PARTS.slice(0, 2),
        rows("id p v", (1, "01", "A"), (1, "02", "n")),
        rows("id p v", (1, "01", "A"), (2, "02", "b"), (1, "02", "n")),
        (1, 1, 0),
        keys=("id", "p"),
        partition_by=("p",),
    ),
    Scenario(
        "a source without the partition column keeps it",
        PARTS,
        rows("id v", (1, "A"), (9, "n")),
        rows("id p v", (1, "01", "A"), (2, "02", "b"), (3, None, "c"), (4, "01", "d"), (9, None, "n")),
        (1, 1, 0),
        partition_by=("p",),
    ),
    Scenario(
        "a full_merge over partitions",
        PARTS,
        rows("id p v", (1, "02", "A"), (9, "01", "n")),
        rows("id p v", (1, "02", "A"), (9, "01", "n")),
        (1, 1, 3),
        strategy="full_merge",
        partition_by=("p",),
    ),
    Scenario(
        "delete_insert over partitions",
        PARTS,
        rows("id p v", (1, "02", "A"), (3, "01", "n")),
        rows("id p v", (1, "02", "A"), (2, "02", "b"), (3, "01", "n"), (4, "01", "d")),
        (2, 0, 2),
        strategy="delete_insert",
        partition_by=("p",),
    ),
    Scenario(
        "a new column and partitions",
        PARTS,
        rows("id p v w", (2, "02", "B", 5)),
        rows("id p v w", (1, "01", "a", None), (2, "02", "B", 5), (3, None, "c", None), (4, "01", "d", None)),
        (0, 1, 0),
        partition_by=("p",),
    ),
)
