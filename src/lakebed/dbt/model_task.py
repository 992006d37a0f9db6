"""One model from its configuration to its committed rows, in the steps that the dbt package asks for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from lakebed.dbt.appends import Acknowledgements, Pending, digest_query, find_pending
from lakebed.dbt.places import Place
from lakebed.dbt.store import ModelRun, Stored, adopt_rows, store_rows
from lakebed.errors import ConfigError
from lakebed.schema.duckdb import from_duckdb, quote_identifier, to_duckdb
from lakebed.schema.types import Schema
from lakebed.storage import Storage
from lakebed.table.evolve import type_or_text
from lakebed.targets.base import Target
from lakebed.targets.shared.staging import StagingArea

# What dbt's database holds under the model's name.
TABLE, VIEW = "table", "view"


@dataclass
class ModelTask:
    """A model on its way. `existing` is what dbt's database holds under its name: a table, a view or nothing."""

    run: ModelRun
    place: Place
    existing: str | None
    known: Acknowledgements
    table: Target = field(init=False)
    pending: Pending | None = None
    exists: bool = False
    adopts: bool = False
    _staging: str = ""
    _area: StagingArea = field(init=False)

    def __post_init__(self) -> None:
        self.table = self.place.open()
        folder = self.place.places.settings.workdir_path / "dbt" / "rows"
        self._area = StagingArea(str(folder), Storage())

    def begin(self) -> dict[str, object]:
        """Looks at the table, and refuses what must not happen before any SQL of the model is run."""
        state = self.table.state() if self.place.is_view or self.existing == TABLE else None
        self.exists = state is not None and state.exists
        # Rows that dbt's own materialization made belong to the model too.
        self.adopts = self.place.is_view and self.existing == TABLE and not self.exists
        if self.run.full_refresh and (self.exists or self.adopts):
            self.run.words.require_refresh(self.run.model, self.table.address)
        if self.run.full_refresh:
            self.adopts = False
        if not self.place.is_view and self.run.words.on_schema_change == "sync_all_columns":
            raise ConfigError(
                f"{self.run.model}: on_schema_change='sync_all_columns' hides columns behind a view, and in dbt's own "
                "database the model is the table itself",
                remedy="Use 'append_new_columns', or a target that is Iceberg or Parquet.",
            )
        if self.run.words.strategy == "append":
            self.known.prepare()
            if state is not None and state.exists:
                self.pending = find_pending(self.table, state, self.run.model, self.known)
        return {"is_view": self.place.is_view, "exists": self.exists, "adopts": self.adopts}

    def prepare(self, columns: Sequence[tuple[str, str]], relation: str) -> dict[str, object]:
        """Where dbt is to put the rows, and the query that gives each column a type that every target has."""
        self._staging = self._area.begin()
        folder = Path(self._area.folder(self._staging))
        chosen = [(name, type_) for name, type_ in columns if self._takes(name)]
        if not chosen:
            raise ConfigError(
                f"{self.run.model}: on_schema_change='ignore', and {self.table.address} has none of its columns",
                remedy="Select at least one column that the table has, or use 'append_new_columns'.",
            )
        return {
            "query": f"SELECT {select_list(chosen)} FROM {relation}",
            "file": str(folder / "rows.parquet"),
            "old_file": str(folder / "old.parquet"),
            "digest_query": digest_query(relation) if self.run.words.strategy == "append" else None,
        }

    def prepare_old(self, columns: Sequence[tuple[str, str]], relation: str) -> dict[str, object]:
        """The same for the table that dbt had before."""
        return {"query": f"SELECT {select_list(columns)} FROM {relation}"}

    def write(self, rows: int, digest: str | None) -> tuple[Stored, dict[str, object]]:
        """Commits the rows, and says what dbt's database is to show."""
        settings = self.place.places.settings
        folder = Path(self._area.folder(self._staging))
        try:
            if self.adopts:
                adopt_rows(self.run, str(folder / "old.parquet"), self.table, settings)
            file = str(folder / "rows.parquet")
            stored = store_rows(self.run, file, rows, self.table, settings, digest=digest, pending=self.pending)
        finally:
            self._area.remove(self._staging)
        acknowledge = None
        if stored.number is not None:
            acknowledge = self.known.statement(self.run.model, self.table.address, stored.number)
        shown = stored.plan.incoming if self.run.words.on_schema_change == "sync_all_columns" else None
        return stored, {**show(self.place, self.table, shown), "acknowledge": acknowledge, "message": stored.message}

    def _takes(self, name: str) -> bool:
        if self.run.words.on_schema_change != "ignore" or not self.exists:
            return True
        return name in self.table.state().schema


def show(
    place: Place, table: Target, columns: Schema | None = None, *, pending: Pending | None = None
) -> dict[str, object]:
    """What dbt's database shows of a table: the view's query, with these columns alone, and comments.

    Of an append that dbt does not know of yet it shows what was there before: the model then selects the same rows
    again, by which they are recognised.
    """
    state = table.state()
    view = None
    if place.is_view:
        view = place.select(table, snapshot=None if pending is None else pending.parent)
        if columns is not None:
            kept = [quote_identifier(state.schema[column.name].name) for column in columns]
            view = view.replace("SELECT *", f"SELECT {', '.join(kept)}", 1)
    originals = {
        column.name: f"originally {column.original}"
        for column in state.schema
        if column.original is not None and column.original != column.name
    }
    return {"view": view, "comment": place.describe(), "originals": originals if place.is_view else {}}


def select_list(columns: Sequence[tuple[str, str]]) -> str:
    """Columns with types that Parquet and every target have: sums of integers as decimals, unknown types as text."""
    chosen = []
    for name, type_ in columns:
        known = to_duckdb(type_or_text(type_, column=name, read=from_duckdb), column=name)
        quoted = quote_identifier(name)
        chosen.append(quoted if known == type_ else f"CAST({quoted} AS {known}) AS {quoted}")
    return ", ".join(chosen)


class DbtColumn(Protocol):
    """dbt's column object, as far as it matters here."""

    column: str
    dtype: str


def read_columns(columns: Iterable[DbtColumn]) -> list[tuple[str, str]]:
    """Names and types of dbt's columns."""
    return [(one.column, one.dtype) for one in columns]


def text_of(request: Mapping[str, object], name: str) -> str | None:
    """A text of a request; None where it is not there."""
    value = request.get(name)
    return None if value is None else str(value)
