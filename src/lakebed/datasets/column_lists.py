"""The never-drop specification's column lists: what is new, what is gone, and the SELECT that pads with NULL.

Names compare without regard to case and the target's spelling wins.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lakebed.schema.duckdb import quote_identifier
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.types import fold


class SchemaChanges(NamedTuple):
    """The columns only the source has, and those only the target has, in their order."""

    new_columns: list[str]
    removed_columns: list[str]


def detect_schema_changes(target_cols: Sequence[str], source_cols: Sequence[str]) -> SchemaChanges:
    """Compares two lists of column names.

    >>> detect_schema_changes(["a", "b", "c"], ["a", "b", "d"])
    SchemaChanges(new_columns=['d'], removed_columns=['c'])
    """
    return SchemaChanges(_without(source_cols, target_cols), _without(target_cols, source_cols))


def refreshed_columns(target_cols: Sequence[str], new_columns: Sequence[str]) -> list[str]:
    """The target's columns after evolution: all it had, then the new ones. Nothing is ever subtracted."""
    return [*target_cols, *_without(new_columns, target_cols)]


def select_columns(target_cols: Sequence[str], source_cols: Sequence[str]) -> list[str]:
    """One expression per target column: the column, or NULL under its name where the source lacks it.

    >>> select_columns(["a", "b", "c"], ["a", "c"])
    ['"a"', 'NULL AS "b"', '"c"']
    """
    present = {fold(name) for name in source_cols}
    return [
        quote_identifier(name) if fold(name) in present else f"NULL AS {quote_identifier(name)}" for name in target_cols
    ]


def select_clause(plan: EvolutionPlan) -> str:
    """The SELECT list that turns the incoming data into rows of the final table, column by column in its order."""
    return ", ".join(_expression(source.column, source.incoming) for source in plan.sources)


def insert_clause(plan: EvolutionPlan) -> str:
    """The column list of the INSERT that goes with `select_clause`."""
    return ", ".join(quote_identifier(source.column) for source in plan.sources)


def _expression(column: str, incoming: str | None) -> str:
    if incoming is None:
        return f"NULL AS {quote_identifier(column)}"
    if incoming == column:
        return quote_identifier(column)
    return f"{quote_identifier(incoming)} AS {quote_identifier(column)}"


def _without(names: Iterable[str], others: Iterable[str]) -> list[str]:
    excluded = {fold(name) for name in others}
    kept = []
    for name in names:
        if fold(name) not in excluded:
            excluded.add(fold(name))
            kept.append(name)
    return kept
