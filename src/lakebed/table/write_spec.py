"""What a write is asked to do, checked before any data is looked at, and what it says that it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import get_args

from lakebed.config import OnConflict
from lakebed.errors import ConfigError
from lakebed.model import ColumnSlice, WriteMode
from lakebed.schema.evolve import EvolutionPlan
from lakebed.schema.types import Column, Schema, fold
from lakebed.table.typed_values import typed_value
from lakebed.targets.base import Txn

_SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class WriteSpec:
    """The arguments of a write, in one form."""

    mode: WriteMode = "append"
    slice: Mapping[str, object] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    on_conflict: OnConflict = "refuse"
    txn: Txn | None = None

    @classmethod
    def of(
        cls,
        *,
        mode: str,
        slice_: Mapping[str, object] | None,
        partition_by: Sequence[str] | str | None,
        on_conflict: str,
        txn: tuple[str, int] | None,
    ) -> "WriteSpec":
        """The arguments, or ConfigError for the first that is wrong."""
        _require_one_of("mode", mode, get_args(WriteMode))
        _require_one_of("on_conflict", on_conflict, get_args(OnConflict))
        if mode == "replace_slice" and not slice_:
            raise ConfigError(
                "mode='replace_slice' needs the slice that it replaces",
                remedy="Give slice={COLUMN: VALUE}, or mode='overwrite' to replace every row.",
            )
        if mode != "replace_slice" and slice_:
            raise ConfigError(
                f"a slice has no meaning for mode={mode!r}",
                remedy="Give mode='replace_slice', or leave the slice out.",
            )
        names = [partition_by] if isinstance(partition_by, str) else list(partition_by or ())
        for what, given in (("slice", list(slice_ or ())), ("partition_by", names)):
            if len({fold(str(name)) for name in given}) < len(given) or not all(given):
                raise ConfigError(f"{what} names a column twice, or one without a name: {', '.join(map(str, given))}")
        return cls(
            mode=mode,  # type: ignore[arg-type]
            slice=dict(slice_ or {}),
            partition_by=tuple(names),
            on_conflict=on_conflict,  # type: ignore[arg-type]
            txn=_txn(txn),
        )

    def typed_slice(self, evolution: EvolutionPlan) -> ColumnSlice | None:
        """The rows that leave: each value in its column's type, under the name that the table has for it."""
        if self.mode == "append":
            return None
        final = evolution.final
        return ColumnSlice(
            {_column(final, name).name: typed_value(final[name], given) for name, given in self.slice.items()}
        )


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did. Always `total = before + rows - removed`, which is what the table holds.

    `sums` are the exact sums of the new rows, for each decimal column of the data. `skipped` says that the table held
    this version of the app already, and that nothing was written. Of a dry run it is what the write would do.
    """

    table: str
    mode: WriteMode
    rows: int = 0
    removed: int = 0
    before: int = 0
    total: int = 0
    sums: Mapping[str, Decimal] = field(default_factory=dict)
    added_columns: tuple[str, ...] = ()
    widened_columns: tuple[str, ...] = ()
    files: int = 0
    files_rewritten: int = 0
    version: str | None = None
    skipped: bool = False
    dry_run: bool = False
    warnings: tuple[str, ...] = ()
    plan: EvolutionPlan | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, object]:
        result: dict[str, object] = {
            "table": self.table,
            "mode": self.mode,
            "rows": self.rows,
            "removed": self.removed,
            "before": self.before,
            "total": self.total,
            "sums": dict(self.sums),
            "added_columns": list(self.added_columns),
            "widened_columns": list(self.widened_columns),
            "files": self.files,
            "files_rewritten": self.files_rewritten,
            "version": self.version,
            "skipped": self.skipped,
            "dry_run": self.dry_run,
            "warnings": list(self.warnings),
        }
        return result if self.plan is None else {**result, "plan": self.plan.to_dict()}


def _require_one_of(what: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ConfigError(f"there is no {what} {given!r}", remedy=f"It is one of: {', '.join(known)}.")


def _txn(given: object) -> Txn | None:
    match given:
        case None:
            return None
        case (str(app), int(version)) if app and version >= 0 and not isinstance(version, bool):
            return Txn(app, version)
    raise ConfigError(
        f"txn is {given!r}",
        remedy="Give the name of the writer and the number of the write, from 0 on: txn=('orders', batch_id).",
    )


def _column(final: Schema, name: str) -> Column:
    column = final.get(name)
    if column is None:
        raise ConfigError(
            f"neither the table nor the data has the column {name} of the slice",
            remedy=f"Columns: {', '.join(final.names[:_SHOWN_COLUMNS])}.",
        )
    return column
