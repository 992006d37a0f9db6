"""What a merge means for columns and types, and what deduplication does before it."""

import pyarrow as pa

from lakebed.testing.merge_scenarios import MOMENT, NAIVE, NAN, OLD, Scenario
from lakebed.testing.rows import rows

NESTED = {"l": pa.list_(pa.int64()), "m": pa.map_(pa.string(), pa.string())}
FIXED = {"id": pa.binary(4), "k": pa.binary(2)}
HELPERS = "id merge_action filename file_row_number source target rowid"


def _struct(fields: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    return {"s": pa.struct(list(fields.items()))}


SCHEMAS = (
    Scenario(
        "an update keeps a column the target has never seen",
        rows("id cost:dec9_2", (1, "1.00")),
        rows("id cost:dec9_2 tag", (1, "2.00", "prod")),
        rows("id cost:dec9_2 tag", (1, "2.00", "prod")),
        (0, 1, 0),
    ),
    Scenario(
        "a column only in the source is NULL in old rows",
        OLD,
        rows("id v w", (2, "B", 7), (4, "D", 8)),
        rows("id v w", (1, "a", None), (2, "B", 7), (3, "c", None), (4, "D", 8)),
        (1, 1, 0),
    ),
    Scenario(
        "without schema evolution a new column is refused",
        OLD,
        rows("id v w", (2, "B", 7)),
        refusal="SCHEMA_INCOMPATIBLE",
        column="w",
        options={"schema_evolution": False},
    ),
    Scenario(
        "without schema evolution a wider type is refused",
        rows("id v:int32", (1, 1)),
        rows("id v:int64", (1, 2)),
        refusal="SCHEMA_INCOMPATIBLE",
        column="v",
        options={"schema_evolution": False},
    ),
    Scenario(
        "a column only in the target keeps its value",
        rows("id v w", (1, "a", 5), (2, "b", 6)),
        rows("id v", (2, "B"), (4, "D")),
        rows("id v w", (1, "a", 5), (2, "B", 6), (4, "D", None)),
        (1, 1, 0),
    ),
    Scenario(
        "a column only in the target is emptied when asked",
        rows("id v w", (1, "a", 5), (2, "b", 6)),
        rows("id v", (2, "B")),
        rows("id v w", (1, "a", 5), (2, "B", None)),
        (0, 1, 0),
        options={"missing": "null"},
    ),
    Scenario(
        "integers widen for the whole table",
        rows("id v:int32", (1, 1), (2, 2)),
        rows("id v:int64", (2, 2**40)),
        rows("id v:int64", (1, 1), (2, 2**40)),
        (0, 1, 0),
    ),
    Scenario(
        "a narrower source value fits",
        rows("id v:int64", (1, 2**40)),
        rows("id v:int32", (1, 7)),
        rows("id v:int64", (1, 7)),
        (0, 1, 0),
    ),
    Scenario(
        "float widens to double",
        rows("id v:float", (1, 1.5), (2, 2.5)),
        rows("id v:double", (2, 0.1)),
        rows("id v:double", (1, 1.5), (2, 0.1)),
        (0, 1, 0),
    ),
    Scenario(
        "decimals widen in precision and scale",
        rows("id v:dec9_2", (1, "1.25"), (2, "1234567.89")),
        rows("id v:dec18_6", (2, "0.000001")),
        rows("id v", (1, "1.25"), (2, "0.000001"), types={"v": pa.decimal128(18, 6)}),
        (0, 1, 0),
    ),
    Scenario(
        "decimals that no type holds are refused",
        rows("id v:dec38_30", (1, "1.5")),
        rows("id v:dec38_2", (1, "2.5")),
        refusal="SCHEMA_INCOMPATIBLE",
        column="v",
    ),
    Scenario(
        "a time without zone against one with is refused",
        rows("id t:us", (1, NAIVE)),
        rows("id t:utc", (1, MOMENT)),
        refusal="SCHEMA_INCOMPATIBLE",
        column="t",
    ),
    Scenario(
        "two zones are the same instants",
        rows("id t:utc", (1, MOMENT), (2, MOMENT)),
        rows("id t:berlin", (2, MOMENT)),
        rows("id t:utc", (1, MOMENT), (2, MOMENT)),
        (0, 1, 0),
    ),
    Scenario(
        "types that do not widen are refused with both",
        rows("id v", (1, "a")),
        rows("id v", (1, 5)),
        refusal="SCHEMA_INCOMPATIBLE",
        column="v",
    ),
    Scenario(
        "names that differ in case are one column",
        rows("Id Value", (1, "a"), (2, "b")),
        rows("ID vALUE", (2, "B")),
        rows("Id Value", (1, "a"), (2, "B")),
        (0, 1, 0),
    ),
    Scenario(
        "two columns that differ only in case are refused",
        OLD,
        rows("id v V", (1, "x", "y")),
        refusal="AMBIGUOUS_COLUMN_CASE",
        column="v",
    ),
    Scenario(
        "columns go by name and not by place",
        rows("id v w", (1, "v1", "w1"), (2, "v2", "w2")),
        rows("w id v", ("W2", 2, "V2"), ("W3", 3, "V3")),
        rows("id v w", (1, "v1", "w1"), (2, "V2", "W2"), (3, "V3", "W3")),
        (1, 1, 0),
    ),
    Scenario(
        "a struct gains a field",
        rows("id s v", (1, {"a": 1}, "x"), (2, {"a": 2}, "y"), types=_struct({"a": pa.int64()})),
        rows("id s", (2, {"a": 20, "b": "n"}), types=_struct({"a": pa.int64(), "b": pa.string()})),
        rows(
            "id s v",
            (1, {"a": 1, "b": None}, "x"),
            (2, {"a": 20, "b": "n"}, "y"),
            types=_struct({"a": pa.int64(), "b": pa.string()}),
        ),
        (0, 1, 0),
    ),
    Scenario(
        "a struct that lacks a field is NULL there",
        rows(
            "id s", (1, {"a": 1, "b": "x"}), (2, {"a": 2, "b": "y"}), types=_struct({"a": pa.int64(), "b": pa.string()})
        ),
        rows("id s", (2, {"b": "Y"}), types=_struct({"b": pa.string()})),
        rows(
            "id s",
            (1, {"a": 1, "b": "x"}),
            (2, {"a": None, "b": "Y"}),
            types=_struct({"a": pa.int64(), "b": pa.string()}),
        ),
        (0, 1, 0),
    ),
    Scenario(
        "lists and maps travel whole",
        rows("id l m", (1, [1, 2], [("k", "v")]), (2, None, []), types=NESTED),
        rows("id l m", (2, [3], [("x", None)]), (3, [], None), types=NESTED),
        rows("id l m", (1, [1, 2], [("k", "v")]), (2, [3], [("x", None)]), (3, [], None), types=NESTED),
        (1, 1, 0),
    ),
    Scenario(
        "binary of a fixed length stays so",
        rows("id k v", (b"0001", b"ab", 1), (b"0002", b"cd", 2), types=FIXED),
        rows("id k v", (b"0002", b"CD", 20), (b"0003", b"ef", 3), types=FIXED),
        rows("id k v", (b"0001", b"ab", 1), (b"0002", b"CD", 20), (b"0003", b"ef", 3), types=FIXED),
        (1, 1, 0),
    ),
    Scenario(
        "a struct without fields is refused",
        OLD,
        rows("id v s", (1, "x", {}), types={"s": pa.struct([])}),
        refusal="SCHEMA_INCOMPATIBLE",
        column="s",
    ),
    Scenario(
        "columns named like helpers are the user's",
        rows(HELPERS, (1, "a", "f", 1, "s", "t", 5)),
        rows(HELPERS, (1, "b", "g", 2, "S", "T", 6), (2, "INSERT", "h", 3, "u", "w", 7)),
        rows(HELPERS, (1, "b", "g", 2, "S", "T", 6), (2, "INSERT", "h", 3, "u", "w", 7)),
        (1, 1, 0),
    ),
    Scenario(
        "a key named like a helper",
        rows("merge_action v", ("UPDATE", 1)),
        rows("merge_action v", ("UPDATE", 2), ("INSERT", 3)),
        rows("merge_action v", ("UPDATE", 2), ("INSERT", 3)),
        (1, 1, 0),
        keys=("merge_action",),
    ),
    Scenario(
        "names with spaces, quotes and dots",
        rows("id v", (1, "a")).rename_columns(['my "id"', "a.b 'c'"]),
        rows("id v", (1, "b")).rename_columns(['my "id"', "a.b 'c'"]),
        rows("id v", (1, "b")).rename_columns(['my "id"', "a.b 'c'"]),
        (0, 1, 0),
        keys=('my "id"',),
    ),
)

DEDUPLICATION = (
    Scenario(
        "the highest in order wins",
        OLD,
        rows("id v n", (2, "x", 1), (2, "y", 3), (2, "z", 2)),
        rows("id v n", (1, "a", None), (2, "y", 3), (3, "c", None)),
        (0, 1, 0),
        strategy="deduplicate",
        options={"dedup_order_by": "n"},
    ),
    Scenario(
        "several columns order, and NULL is lowest",
        OLD,
        rows("id v n m", (2, "x", None, 9), (2, "y", 3, None), (2, "z", 3, 1), (5, "w", None, None)),
        rows("id v n m", (1, "a", None, None), (2, "z", 3, 1), (3, "c", None, None), (5, "w", None, None)),
        (1, 1, 0),
        strategy="deduplicate",
        options={"dedup_order_by": ["n", "m"]},
    ),
    Scenario(
        "NaN is highest in order",
        OLD,
        rows("id v n:double", (2, "x", 1.5), (2, "y", NAN)),
        rows("id v n:double", (1, "a", None), (2, "y", NAN), (3, "c", None)),
        (0, 1, 0),
        strategy="deduplicate",
        options={"dedup_order_by": "n"},
    ),
    Scenario(
        "without an order identical rows count once",
        OLD,
        rows("id v", (2, "x"), (2, "x"), (5, "w")),
        rows("id v", (1, "a"), (2, "x"), (3, "c"), (5, "w")),
        (1, 1, 0),
        strategy="deduplicate",
    ),
    Scenario(
        "without an order rows that differ are refused",
        OLD,
        rows("id v", (2, "x"), (2, "y")),
        strategy="deduplicate",
        refusal="DUPLICATE_SOURCE_KEYS",
        count=1,
        refused_keys=(2,),
    ),
    Scenario(
        "a tie of rows that differ is refused",
        OLD,
        rows("id v n", (2, "x", 3), (2, "y", 3), (2, "z", 1)),
        strategy="deduplicate",
        refusal="DUPLICATE_SOURCE_KEYS",
        count=1,
        refused_keys=(2,),
        options={"dedup_order_by": "n"},
    ),
    Scenario(
        "a tie of identical rows is none",
        OLD,
        rows("id v n", (2, "x", 3), (2, "x", 3), (2, "z", 1)),
        rows("id v n", (1, "a", None), (2, "x", 3), (3, "c", None)),
        (0, 1, 0),
        strategy="deduplicate",
        options={"dedup_order_by": "n"},
    ),
    Scenario(
        "deduplicate with nested values",
        rows("id l", (1, [1]), types={"l": pa.list_(pa.int64())}),
        rows("id l", (1, [2]), (1, [2]), types={"l": pa.list_(pa.int64())}),
        rows("id l", (1, [2]), types={"l": pa.list_(pa.int64())}),
        (0, 1, 0),
        strategy="deduplicate",
    ),
)
