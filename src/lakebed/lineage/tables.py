"""Tables as the catalog holds them: names, columns, and where they are known from."""

from functools import partial
from typing import NamedTuple, Protocol

from lakebed.lineage.contract import Origin, ResolvedColumn, ResolvedTable
from lakebed.lineage.relations import Refs, Relation, UnknownTable

# a named tuple's own constructor costs more than all the rest of a column
_RESOLVED_COLUMN = partial(tuple.__new__, ResolvedColumn)


class NamePart(NamedTuple):
    """One part of a dotted name as it was written."""

    text: str
    quoted: bool = False


class CatalogColumn(NamedTuple):
    """A column of a table in the catalog."""

    name: str
    key: str
    data_type: str | None = None
    origin: Origin = "imported"
    # whether its type was inferred from an expression, and not declared
    inferred: bool = False


class LazyColumns(Protocol):
    """Columns that are read on first use."""

    def __call__(self) -> tuple[CatalogColumn, ...]: ...

    def names_and_keys(self) -> tuple[list[str], list[str]] | None: ...

    def json_columns(self) -> list[dict[str, object]] | None: ...


class CatalogTable:
    """A table or view of the catalog; never changed, only replaced."""

    __slots__ = (
        "_columns",
        "_relation",
        "complete",
        "kind",
        "mismatch",
        "name",
        "origin",
        "parts",
        "statement_index",
        "temporary",
    )

    def __init__(
        self,
        parts: tuple[str, ...],
        columns: tuple[CatalogColumn, ...] | LazyColumns,
        origin: Origin,
        *,
        kind: str = "table",
        statement_index: int | None = None,
        temporary: bool = False,
        complete: bool = True,
        mismatch: bool = False,
    ) -> None:
        self.parts = parts
        self.name = ".".join(parts)
        # read on first use: an imported schema may have thousands of tables of which a script reads three
        self._columns = columns
        self.origin = origin
        self.kind = kind
        self.statement_index = statement_index
        self.temporary = temporary
        # false where a star of its definition could not be expanded, or an imported table came without columns
        self.complete = complete
        self.mismatch = mismatch
        self._relation: Relation | None = None

    @property
    def columns(self) -> tuple[CatalogColumn, ...]:
        if not isinstance(self._columns, tuple):
            self._columns = self._columns()
        return self._columns

    def relation(self) -> Relation:
        """The table as something to read from."""
        if self._relation is None:
            name = self.name
            found = None if isinstance(self._columns, tuple) else self._columns.names_and_keys()
            if found is None:
                found = [column.name for column in self.columns], [column.key for column in self.columns]
            names, keys = found
            refs: list[Refs] = [((name, column, (), "value", False),) for column in names]
            self._relation = Relation(
                names,
                keys,
                refs,
                unknown=None if self.complete else UnknownTable(name),
                table=name,
                doubt=self.mismatch,
                types=self._types,
            )
        return self._relation

    def _types(self) -> dict[str, str]:
        return {column.key: column.data_type for column in self.columns if column.data_type}

    def with_columns(self, columns: tuple[CatalogColumn, ...], *, mismatch: bool | None = None) -> "CatalogTable":
        return CatalogTable(
            self.parts,
            columns,
            self.origin,
            kind=self.kind,
            statement_index=self.statement_index,
            temporary=self.temporary,
            complete=self.complete,
            mismatch=self.mismatch if mismatch is None else mismatch,
        )

    def renamed(self, parts: tuple[str, ...]) -> "CatalogTable":
        return CatalogTable(
            parts,
            self.columns,
            self.origin,
            kind=self.kind,
            statement_index=self.statement_index,
            temporary=self.temporary,
            complete=self.complete,
        )

    def to_dict(self, updated_at: str) -> dict[str, object]:
        """The table as `resolvedSchema` has it in JSON."""
        columns = None if isinstance(self._columns, tuple) else self._columns.json_columns()
        if columns is None:
            return self.resolved(updated_at).to_dict()
        # nobody asked for its columns one by one: what was imported is shown as it was
        table = self._resolved((), updated_at).to_dict()
        table["columns"] = columns
        return table

    def resolved(self, updated_at: str) -> ResolvedTable:
        """The table as `resolvedSchema` lists it."""
        implied = self.origin == "implied"
        columns = tuple(
            [
                _RESOLVED_COLUMN((name, kind, "implied" if implied else origin, inferred))
                for name, _, kind, origin, inferred in self.columns
            ]
        )
        return self._resolved(columns, updated_at)

    def _resolved(self, columns: tuple[ResolvedColumn, ...], updated_at: str) -> ResolvedTable:
        *namespace, name = self.parts
        return ResolvedTable(
            catalog=".".join(namespace[:-1]) if len(namespace) > 1 else None,
            schema=namespace[-1] if namespace else None,
            name=name,
            columns=columns,
            origin=self.origin,
            updated_at=updated_at,
            source_statement_index=self.statement_index,
            temporary=self.temporary,
            complete=self.complete,
        )
