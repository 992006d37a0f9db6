"""What a model's `config(...)` asks for, checked before anything is run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from lakebed.config import OnConflict
from lakebed.errors import ConfigError
from lakebed.merge_core.spec import Missing
from lakebed.schema.types import fold

Strategy: TypeAlias = Literal["merge", "delete+insert", "append"]
OnSchemaChange: TypeAlias = Literal["append_new_columns", "ignore", "fail", "sync_all_columns"]

# Ours, which may stand in `meta` too.
_WORDS = ("lakebed_target", "lakebed_allow_drop", "missing", "on_conflict", "partition_by")
# What dbt-duckdb's own incremental models know and this materialization does not: each is refused, none is ignored.
_REFUSED = {
    "incremental_predicates": "Put the condition into the model's SQL.",
    "predicates": "Put the condition into the model's SQL.",
    "merge_update_columns": "Leave the other columns out of the model's SQL: with 'merge' they keep their values.",
    "merge_exclude_columns": "Leave these columns out of the model's SQL: with 'merge' they keep their values.",
    "merge_clauses": "Use 'merge', 'delete+insert' or 'append'.",
    "merge_on_using_columns": "Name the columns in unique_key.",
    "merge_update_condition": "Put the condition into the model's SQL.",
    "merge_insert_condition": "Put the condition into the model's SQL.",
}
_REMEDY_NO_DROP = (
    "Set lakebed_allow_drop: true for this model if that is what you want; without it no row and no column goes."
)


@dataclass(frozen=True)
class ModelWords:
    """The configuration of one model."""

    keys: tuple[str, ...] = ()
    strategy: Strategy = "merge"
    missing: Missing = "keep"
    on_schema_change: OnSchemaChange = "append_new_columns"
    on_conflict: OnConflict = "refuse"
    partition_by: tuple[str, ...] = ()
    target: str | None = None
    allow_drop: bool = False

    @classmethod
    def of(cls, model: str, config: Mapping[str, object]) -> "ModelWords":
        """The words of a model's configuration, or ConfigError."""
        meta = config.get("meta")
        words = {name: meta[name] for name in _WORDS if name in meta} if isinstance(meta, Mapping) else {}
        words |= {name: value for name, value in config.items() if value is not None}
        for name, remedy in _REFUSED.items():
            if words.get(name):
                raise ConfigError(f"{model}: the materialization lakebed has no {name}", remedy=remedy)
        keys = _names(model, words, "unique_key")
        strategy = _strategy(model, words.get("incremental_strategy"), keys)
        padding = _one_of(model, words, "missing", get_args(Missing), "null" if strategy == "delete+insert" else "keep")
        if strategy == "delete+insert" and padding == "keep":
            raise ConfigError(
                f"{model}: delete+insert replaces whole rows and cannot keep what the model does not select",
                remedy="Use incremental_strategy='merge', or leave missing='keep' out.",
            )
        change = _one_of(model, words, "on_schema_change", get_args(OnSchemaChange), "append_new_columns")
        allow_drop = words.get("lakebed_allow_drop", False)
        if not isinstance(allow_drop, bool):
            raise ConfigError(f"{model}: lakebed_allow_drop is {allow_drop!r}", remedy="It is true or false.")
        if change == "sync_all_columns" and not allow_drop:
            raise ConfigError(
                f"{model}: on_schema_change='sync_all_columns' would drop the columns that the model does not select",
                remedy=f"Use 'append_new_columns', which keeps them. {_REMEDY_NO_DROP}",
            )
        target = words.get("lakebed_target")
        if target is not None and not isinstance(target, str):
            raise ConfigError(f"{model}: lakebed_target is {target!r}", remedy="It is text: iceberg:NAMESPACE.TABLE.")
        return cls(
            keys,
            strategy,
            cast("Missing", padding),
            cast("OnSchemaChange", change),
            cast("OnConflict", _one_of(model, words, "on_conflict", get_args(OnConflict), "refuse")),
            _names(model, words, "partition_by"),
            target,
            allow_drop,
        )

    def require_refresh(self, model: str, address: str) -> None:
        """Refuses to replace what a table holds, unless the model allows it."""
        if not self.allow_drop:
            raise ConfigError(
                f"{model}: --full-refresh would replace all that {address} holds, rows that the sources have no more "
                "among them",
                remedy=_REMEDY_NO_DROP,
            )


def _strategy(model: str, given: object, keys: Sequence[str]) -> Strategy:
    chosen = given if given not in (None, "default") else ("merge" if keys else "append")
    if chosen not in get_args(Strategy):
        raise ConfigError(
            f"{model}: the materialization lakebed has no incremental_strategy {chosen!r}",
            remedy=f"It is one of: {', '.join(get_args(Strategy))}.",
        )
    if chosen != "append" and not keys:
        raise ConfigError(
            f"{model}: incremental_strategy={chosen!r} needs to know which rows are the same",
            remedy="Set unique_key to the column, or the columns, that tell rows apart, or use 'append'.",
        )
    if chosen == "append" and keys:
        raise ConfigError(
            f"{model}: incremental_strategy='append' never looks at a unique_key, and would add the same keys again",
            remedy="Leave unique_key out, or use 'merge' or 'delete+insert'.",
        )
    return cast("Strategy", chosen)


def _one_of(model: str, words: Mapping[str, object], name: str, known: Sequence[str], default: str) -> str:
    given = words.get(name, default)
    if given not in known:
        raise ConfigError(f"{model}: {name} is {given!r}", remedy=f"It is one of: {', '.join(known)}.")
    return str(given)


def _names(model: str, words: Mapping[str, object], name: str) -> tuple[str, ...]:
    given = words.get(name)
    if given is None or given == "" or given == []:
        return ()
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list | tuple) and all(isinstance(one, str) and one for one in given):
        # dbt takes a column that is named twice for one.
        return tuple({fold(one): one for one in reversed(given)}.values())[::-1]
    raise ConfigError(f"{model}: {name} is {given!r}", remedy="It is the name of a column, or a list of names.")
