"""Every way in which data makes a merge impossible, said alike on every engine: kind, column, count, keys, remedy."""

from collections.abc import Sequence
from typing import Literal

from lakebed.errors import DatasetMergeError
from lakebed.merge_core.spec import MergeSpec

SHOWN_KEYS = 5
NOTHING_COMMITTED = "Nothing was committed. Please report this with the files that caused it."


def null_key(spec: MergeSpec, *, side: Literal["source", "target"], column: str, count: int) -> DatasetMergeError:
    rows = "1 row" if count == 1 else f"{count} rows"
    return DatasetMergeError(
        f"the key column {column} is NULL in {rows} of the {side}",
        kind="NULL_KEY_SOURCE" if side == "source" else "NULL_KEY_TARGET",
        remedy="A NULL matches nothing: fill the key, leave these rows out, or merge on other columns.",
        column=column,
        count=count,
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def duplicate_keys(spec: MergeSpec, *, count: int, keys: Sequence[tuple[object, ...]]) -> DatasetMergeError:
    """`count` is the number of keys that occur more than once."""
    shown = ", ".join(_show(key) for key in keys[:SHOWN_KEYS]) + (", ..." if count > SHOWN_KEYS else "")
    if spec.strategy == "deduplicate":
        what = "still have several different rows in the source after deduplication"
        remedy = "Name more columns in dedup_order_by, so that one row of each key is the highest."
    else:
        what = "occur more than once in the source"
        remedy = "Use the strategy deduplicate, with dedup_order_by to say which row of a key wins."
    noun = "1 key" if count == 1 else f"{count} keys"
    if count == 1:
        what = what.replace("have", "has", 1).replace("occur ", "occurs ", 1)
    return DatasetMergeError(
        f"{noun} ({', '.join(spec.keys)}) {what}: {shown}",
        kind="DUPLICATE_SOURCE_KEYS",
        remedy=remedy,
        column=", ".join(spec.keys),
        count=count,
        keys=[key[0] if len(key) == 1 else key for key in keys[:SHOWN_KEYS]],
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def key_missing(
    spec: MergeSpec, *, side: Literal["source", "target"], column: str, present: Sequence[str]
) -> DatasetMergeError:
    shown = ", ".join(present[:20]) + (", ..." if len(present) > 20 else "")
    return DatasetMergeError(
        f"the {side} has no key column {column}",
        kind="KEY_COLUMN_MISSING_SOURCE" if side == "source" else "KEY_COLUMN_MISSING_TARGET",
        remedy=f"Columns of the {side}: {shown or 'none'}.",
        column=column,
        count=1,
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def key_types(spec: MergeSpec, *, column: str, target: str, source: str) -> DatasetMergeError:
    return DatasetMergeError(
        f"the key column {column} is {target} in the target and {source} in the source",
        kind="KEY_TYPE_MISMATCH",
        remedy="Cast it in the source: keys of these types cannot be compared by value.",
        column=column,
        count=1,
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def incompatible(spec: MergeSpec, message: str, *, column: str | None, remedy: str | None = None) -> DatasetMergeError:
    return DatasetMergeError(
        message,
        kind="SCHEMA_INCOMPATIBLE",
        remedy=remedy or "Cast the column in the source to the table's type.",
        column=column,
        count=1,
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def ambiguous_case(spec: MergeSpec, *, side: str, names: Sequence[str]) -> DatasetMergeError:
    return DatasetMergeError(
        f"the {side} has columns that differ only in case: {', '.join(names)}",
        kind="AMBIGUOUS_COLUMN_CASE",
        remedy="Rename one of them: names are compared without regard to case.",
        column=names[0],
        count=len(names),
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def concurrent(spec: MergeSpec, *, target: str) -> DatasetMergeError:
    return DatasetMergeError(
        f"{target} was changed by other writers during every attempt to merge into it",
        kind="CONCURRENT_MODIFICATION",
        remedy="Run the merge again: it plans on the table as it then is.",
        strategy=spec.strategy,
        key_columns=spec.keys,
    )


def engine_failed(spec: MergeSpec, message: str, *, remedy: str | None = None) -> DatasetMergeError:
    return DatasetMergeError(
        message,
        kind="ENGINE_FAILED",
        remedy=remedy or "The target is as it was.",
        strategy=spec.strategy,
        key_columns=spec.keys,
        operation="merge",
    )


def _show(key: tuple[object, ...]) -> str:
    return repr(key[0]) if len(key) == 1 else "(" + ", ".join(repr(part) for part in key) + ")"
