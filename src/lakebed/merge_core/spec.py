"""What the user asks of a merge, checked before any data is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from lakebed.config import OnConflict
from lakebed.errors import InvalidMergeArgument
from lakebed.schema.types import fold

MergeStrategy: TypeAlias = Literal["upsert", "insert", "update", "full_merge", "deduplicate", "delete_insert"]
"""What happens to rows that match, and to those that do not."""
Missing: TypeAlias = Literal["keep", "null"]
"""What an update does to a column that the source lacks: keep its value, or NULL."""

STRATEGIES: tuple[MergeStrategy, ...] = get_args(MergeStrategy)


@dataclass(frozen=True, slots=True)
class RowEffects:
    """What a strategy does to rows; the whole difference between strategies once the source is validated."""

    update_matched: bool = False
    insert_unmatched: bool = False
    delete_matched: bool = False  # and then every source row comes, matched or not
    delete_unmatched: bool = False


EFFECTS: dict[MergeStrategy, RowEffects] = {
    "upsert": RowEffects(update_matched=True, insert_unmatched=True),
    "insert": RowEffects(insert_unmatched=True),
    "update": RowEffects(update_matched=True),
    "full_merge": RowEffects(update_matched=True, insert_unmatched=True, delete_unmatched=True),
    "deduplicate": RowEffects(update_matched=True, insert_unmatched=True),
    "delete_insert": RowEffects(delete_matched=True),
}


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """A merge as asked for. Columns are as the user wrote them until `spelled` gives them the table's case."""

    keys: tuple[str, ...]
    strategy: MergeStrategy = "upsert"
    missing: Missing = "keep"
    schema_evolution: bool = True
    dedup_order_by: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    on_conflict: OnConflict = "refuse"

    @classmethod
    def of(
        cls,
        *,
        keys: Sequence[str] | str,
        strategy: str = "upsert",
        missing: str = "keep",
        schema_evolution: bool = True,
        dedup_order_by: Sequence[str] | str | None = None,
        partition_by: Sequence[str] | str | None = None,
        on_conflict: str = "refuse",
    ) -> "MergeSpec":
        """The spec of these arguments, or InvalidMergeArgument, which is a ValueError too."""
        chosen = next((known for known in STRATEGIES if known == strategy), None)
        if chosen is None:
            raise InvalidMergeArgument(
                f"Invalid merge strategy: {strategy!r}",
                kind="INVALID_STRATEGY",
                remedy=f"Valid strategies: {', '.join(STRATEGIES)}.",
                strategy=str(strategy),
            )
        columns = tuple(normalize_keys(keys))
        kept = next((known for known in get_args(Missing) if known == missing), None)
        if kept is None:
            raise InvalidMergeArgument(
                f"Invalid missing value: {missing!r}",
                kind="INVALID_STRATEGY",
                remedy="'keep' keeps the old value of a column that the source lacks, 'null' empties it.",
                strategy=chosen,
                key_columns=columns,
            )
        conflict = next((known for known in get_args(OnConflict) if known == on_conflict), None)
        if conflict is None:
            raise InvalidMergeArgument(
                f"Invalid on_conflict value: {on_conflict!r}",
                kind="INVALID_STRATEGY",
                remedy="'refuse' refuses a type that does not fit, 'variant' gives it a column of its own.",
                strategy=chosen,
                key_columns=columns,
            )
        order = _names(dedup_order_by)
        if order and chosen != "deduplicate":
            raise InvalidMergeArgument(
                f"dedup_order_by has no meaning for the strategy {chosen}",
                kind="INVALID_STRATEGY",
                remedy="Use the strategy deduplicate, or leave dedup_order_by out.",
                strategy=chosen,
                key_columns=columns,
            )
        return cls(columns, chosen, kept, schema_evolution, order, _names(partition_by), conflict)

    @property
    def effects(self) -> RowEffects:
        return EFFECTS[self.strategy]

    @property
    def keys_may_repeat(self) -> bool:
        """Whether several source rows may share a key."""
        return self.strategy == "delete_insert"

    @property
    def keeps_missing(self) -> bool:
        """Whether an updated row keeps its value in the columns that the source lacks."""
        return self.missing == "keep" and not self.effects.delete_matched

    def spelled(self, keys: Sequence[str], dedup_order_by: Sequence[str]) -> "MergeSpec":
        """This spec with its columns in the table's spelling."""
        return replace(self, keys=tuple(keys), dedup_order_by=tuple(dedup_order_by))


def require_flag(use_merge: object) -> bool | None:
    """True, False or None; anything else is an error, 1 and 0 too."""
    if use_merge is None or isinstance(use_merge, bool):
        return use_merge
    raise InvalidMergeArgument(
        f"Invalid use_merge value: {use_merge}\nMust be True, False, or None for auto-detect",
        kind="INVALID_USE_MERGE",
        remedy="True demands DuckDB's MERGE, False its UNION ALL, None takes what this DuckDB has.",
    )


def normalize_keys(key_columns: Sequence[str] | str) -> list[str]:
    """The key columns as a list: one name or several, none of them blank or twice."""
    names: list[object] = [key_columns] if isinstance(key_columns, str) else list(key_columns or ())
    if not names or names == [""]:
        raise InvalidMergeArgument(
            "a merge needs at least one key column",
            kind="EMPTY_KEY_COLUMNS",
            remedy="Name the columns that tell rows apart: keys=['id'], or --keys id on the command line.",
        )
    keys: list[str] = []
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidMergeArgument(
                f"{name!r} is not a key column", kind="INVALID_KEY_COLUMNS", remedy="Key columns are names of columns."
            )
        if fold(name) in {fold(key) for key in keys}:
            raise InvalidMergeArgument(
                f"the key column {name} is named twice",
                kind="INVALID_KEY_COLUMNS",
                remedy="Name each key column once; names are compared without regard to case.",
                column=name,
                key_columns=keys,
            )
        keys.append(name)
    return keys


def _names(value: Sequence[str] | str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)
