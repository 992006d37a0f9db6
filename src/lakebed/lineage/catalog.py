"""The schema of an analysis: imported by the user, implied by DDL, and the hybrid of both.

Imported wins at table level: where it defines a table, what the script declares for the same table is compared and
contradictions are reported, but not used. With `merge_columns` the columns that only the script declares are added.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from lakebed.errors import LineageError
from lakebed.lineage.case_rules import NameRules, fold_all, name_rules
from lakebed.lineage.contract import ResolutionSource
from lakebed.lineage.data_types import same_type
from lakebed.lineage.dialects import Dialect
from lakebed.lineage.renamed_unknown import UnknownRename
from lakebed.lineage.schema_json import ImportedTable, imported_table, imported_tables, plain_names, text
from lakebed.lineage.tables import CatalogColumn, CatalogTable, NamePart

# A dotted name, its parts folded: ("app", "orders").
TableKey = tuple[str, ...]


class SchemaMismatch(NamedTuple):
    """How a declaration differs from the imported table of the same name."""

    table: str
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    retyped: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.retyped)


class _ImportedColumns:
    """The columns of an imported table, read on first use."""

    __slots__ = ("_merged", "_plain", "_rules", "_table")

    def __init__(self, table: ImportedTable, rules: NameRules, merged: bool) -> None:
        self._table = table
        self._rules = rules
        self._merged = merged
        # whether names and types were looked at, and are all text
        self._plain = False

    def __call__(self) -> tuple[CatalogColumn, ...]:
        fold, merged = self._rules.column_key, self._merged
        # a named tuple's own constructor costs as much as all the rest of this
        make = partial(tuple.__new__, CatalogColumn)
        columns: list[CatalogColumn] = [
            make((name, fold(name, False), kind, "implied" if implied and merged else "imported", False))
            for name, kind, implied in self._table.read_columns()
        ]
        if self._rules.folds:
            # names are folded like those of a script; where that would make two columns one, each keeps its spelling
            counts = Counter(column.key for column in columns)
            columns = [c if counts[c.key] == 1 else c._replace(key=fold(c.name, True)) for c in columns]
        return tuple(columns)

    def names_and_keys(self) -> tuple[list[str], list[str]] | None:
        """Names and keys alone; None where more has to be looked at."""
        names = None if self._rules.folds else self._table.column_names()
        if names is None:
            return None
        self._plain = True
        return names, fold_all(self._rules.column_key, names)

    def json_columns(self) -> list[dict[str, object]] | None:
        """The columns as `resolvedSchema` lists them; None where more has to be looked at."""
        return self._table.json_columns() if self._plain and not self._merged else None


class Catalog:
    """Tables by name, under the dialect's case rules, the search path and the defaults of the request."""

    def __init__(
        self,
        dialect: Dialect,
        schema: Mapping[str, object] | None = None,
        *,
        allow_implied: bool = True,
        merge_columns: bool = False,
    ) -> None:
        request = schema or {}
        self.dialect = dialect
        self.rules = name_rules(dialect, text(request, "caseSensitivity"))
        self.allow_implied = allow_implied and request.get("allowImplied", True) is not False
        self.merge_columns = merge_columns
        self.default_catalog = text(request, "defaultCatalog")
        self.default_schema = text(request, "defaultSchema")
        self.search_path = tuple(self._namespaces(request))
        self.updated_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._imported: dict[TableKey, CatalogTable] = {}
        self._implied: dict[TableKey, CatalogTable] = {}
        # first spelling of each table that is not declared, so that one table has one name in a result
        self._spelled: dict[TableKey, str] = {}
        # last part of a name -> a table that has it, for hints
        self._by_last: dict[str, CatalogTable] = {}
        self._request = request
        # imported tables that are read on first use: their names, and their places in the schema
        self._names: list[tuple[str, ...]] = []
        self._places: dict[TableKey, int] = {}
        self._import_all(request)
        self.has_imported = bool(self._imported or self._places)
        # the tables that statements named so far
        self._used: set[tuple[str, ...]] = set()
        # renames of tables whose columns nobody declares: other statements may name some
        self.unknown_renames: list[UnknownRename] = []
        # names of procedures and functions that the script defines
        self.routines: set[str] = set()

    def key(self, parts: Sequence[NamePart]) -> TableKey:
        table_key = self.rules.table_key
        return tuple([table_key(part.text, part.quoted) for part in parts])

    def _namespaces(self, request: Mapping[str, object]) -> Iterator[TableKey]:
        hints = request.get("searchPath") or []
        if not isinstance(hints, list | tuple):
            raise LineageError("schema.searchPath is not a list", remedy='Give [{"schema": "app"}, ...].')
        for hint in hints:
            if isinstance(hint, str):
                yield tuple(self.rules.table_key(text, False) for text in hint.split("."))
            elif isinstance(hint, Mapping):
                parts = [part for part in (text(hint, "catalog"), text(hint, "schema")) if part]
                yield tuple(self.rules.table_key(part, False) for part in parts)
            else:
                raise LineageError(f"schema.searchPath holds {hint!r}", remedy='Give [{"schema": "app"}, ...].')

    def _candidates(self, key: TableKey) -> Iterator[TableKey]:
        """The full names that a name as written may stand for, best first."""
        fold = self.rules.table_key
        catalog = (fold(self.default_catalog, False),) if self.default_catalog else ()
        schema = (fold(self.default_schema, False),) if self.default_schema else ()
        if len(key) == 1:
            for namespace in self.search_path:
                yield namespace + key
                if catalog and len(namespace) == 1:
                    yield catalog + namespace + key
            if schema:
                yield schema + key
                if catalog:
                    yield catalog + schema + key
            yield key
            return
        yield key
        if key[0].lower() == "global_temp":
            # Spark's schema of global temporary views
            yield key[1:]
        if len(key) == 2:
            if catalog:
                yield catalog + key
            if schema and key[:1] == schema:
                yield key[1:]
        elif catalog and key[:1] == catalog:
            yield key[1:]
            if schema and key[1:2] == schema:
                yield key[2:]

    def possible_keys(self, parts: Sequence[NamePart]) -> tuple[TableKey, ...]:
        """The full names that a name as written may stand for, best first."""
        return tuple(self._candidates(self.key(parts)))

    def declared_key(self, parts: Sequence[NamePart]) -> TableKey:
        """The full name that a table gets which is created under this name."""
        fold = self.rules.table_key
        return tuple([fold(part, True) for part in self.spelled(parts)])

    def spelled(self, parts: Sequence[NamePart]) -> tuple[str, ...]:
        """The parts of a name that is not in the catalog: as written or folded, completed by the defaults."""
        spelling = self.rules.table_spelling
        shown = tuple([spelling(part.text, part.quoted) for part in parts])
        if len(shown) == 1 and self.default_schema and not shown[0].startswith("#"):
            shown = (self.default_schema, *shown)
            if self.default_catalog:
                shown = (self.default_catalog, *shown)
        elif len(shown) == 2 and self.default_catalog:
            shown = (self.default_catalog, *shown)
        return shown

    def name_of(self, parts: Sequence[NamePart]) -> str:
        """The dotted name of a table that is not in the catalog."""
        key = self.key(parts)
        name = self._spelled.get(key)
        if name is None:
            name = self._spelled[key] = ".".join(self.spelled(parts))
        return name

    def origin_of(self, name: str) -> ResolutionSource:
        """Where a table of this dotted name is known from."""
        return next((table.origin for table in self.tables() if table.name == name), "unknown")

    def similar(self, parts: Sequence[NamePart]) -> str | None:
        """A table of the catalog with the same last part, for the hint of an unknown table."""
        self._all_imported()
        table = self._by_last.get(self.key(parts)[-1]) if parts else None
        return table.name if table is not None else None

    def find(self, parts: Sequence[NamePart]) -> CatalogTable | None:
        """The table of this name, imported before implied."""
        key = self.key(parts)
        if not key:
            return None
        if key[-1].endswith("*") and self.dialect.name == "bigquery":
            return self._find_wildcard(key)
        imported, implied = self._imported_at, self._implied
        if len(key) == 1 and not self.search_path and not self.default_schema:
            table = imported(key) or implied.get(key)
            if table is not None:
                self._used.add(table.parts)
            return table
        temporary = implied.get(key)
        if temporary is not None and temporary.temporary and imported(key) is None:
            # a temporary table hides tables of the same name in every schema
            return temporary
        for candidate in self._candidates(key):
            table = imported(candidate) or implied.get(candidate)
            if table is not None:
                self._used.add(table.parts)
                return table
        return None

    def _find_wildcard(self, key: TableKey) -> CatalogTable | None:
        """BigQuery's `events_*`: one table with the columns of the newest that it stands for."""
        for candidate in self._candidates(key):
            *namespace, prefix = candidate
            last = len(candidate) - 1
            matching = [
                name
                for name in (*self._all_imported(), *self._implied)
                if len(name) == len(candidate) and list(name[:last]) == namespace and name[last].startswith(prefix[:-1])
            ]
            if matching:
                newest = max(matching)
                table = self._imported.get(newest) or self._implied[newest]
                self._used.add(table.parts)
                return table.renamed((*table.parts[:-1], prefix))
        return None

    def _import_all(self, request: Mapping[str, object]) -> None:
        fold = self.rules.table_key
        names = plain_names(request) if fold("A", True) == fold("A", False) else None
        if names is not None:
            self._names = names
            keys: Iterable[TableKey] = (tuple(fold_all(fold, parts)) for parts in names)
            if len(set(map(len, names))) == 1:
                # part by part, which takes a call for each part and not for each table
                keys = zip(*[fold_all(fold, part) for part in zip(*names, strict=True)], strict=True)
            self._places = {key: place for place, key in enumerate(keys)}
            return
        dotted = [entry for table in imported_tables(request) if (entry := self._import(table)) is not None]
        for entry in dotted:
            # the whole name as one: `public.users`; a table whose schema is given apart goes before it
            parts = tuple(part for text in entry.parts for part in text.split("."))
            self._imported.setdefault(tuple(fold_all(fold, parts)), entry)
            self._by_last.setdefault(fold(parts[-1], False), entry)

    def _imported_at(self, key: TableKey) -> CatalogTable | None:
        """The imported table of this full name."""
        table = self._imported.get(key)
        if table is None and (place := self._places.get(key)) is not None:
            # plain names mean the same quoted or not: the key is the only one
            table = self._imported[key] = self._entry(imported_table(self._request, self._names[place], place))
            self._by_last.setdefault(key[-1], table)
        return table

    def _all_imported(self) -> dict[TableKey, CatalogTable]:
        """Every imported table by its full name."""
        for key in self._places:
            self._imported_at(key)
        return self._imported

    def _import(self, table: ImportedTable) -> CatalogTable | None:
        """Adds an imported table; returns it where one of its names has dots in it."""
        entry = self._entry(table)
        parts = table.parts
        fold = self.rules.table_key
        folded = tuple(fold_all(fold, parts))
        self._by_last.setdefault(folded[-1], entry)
        exact = tuple([fold(part, True) for part in parts])
        self._imported[exact] = entry
        if exact != folded:
            self._imported.setdefault(folded, entry)
        return entry if "." in "".join(parts) else None

    def _entry(self, table: ImportedTable) -> CatalogTable:
        columns = _ImportedColumns(table, self.rules, self.merge_columns)
        return CatalogTable(table.parts, columns, "imported", complete=table.complete)

    def declare(
        self,
        parts: Sequence[NamePart],
        columns: Sequence[CatalogColumn],
        *,
        kind: str,
        statement_index: int,
        temporary: bool = False,
        complete: bool = True,
    ) -> SchemaMismatch | None:
        """Adds a table that DDL declares; returns how it contradicts the imported table of that name, if it does."""
        if not self.allow_implied or not parts:
            return None
        imported = self._find_imported(parts)
        if imported is not None:
            self._used.add(imported.parts)
            return self._compare(imported, columns, complete)
        spelled = (
            self.spelled(parts) if not temporary else tuple(self.rules.table_spelling(p.text, p.quoted) for p in parts)
        )
        key = tuple(self.rules.table_key(part, True) for part in spelled)
        table = CatalogTable(
            spelled,
            tuple(columns),
            "implied",
            kind=kind,
            statement_index=statement_index,
            temporary=temporary,
            complete=complete,
        )
        self._by_last.setdefault(key[-1], table)
        self._implied[key] = table
        return None

    def _find_imported(self, parts: Sequence[NamePart]) -> CatalogTable | None:
        for candidate in self._candidates(self.key(parts)):
            if (table := self._imported_at(candidate)) is not None:
                return table
        return None

    def _compare(
        self, imported: CatalogTable, columns: Sequence[CatalogColumn], complete: bool
    ) -> SchemaMismatch | None:
        fold = self.rules.column_key
        have = {fold(column.name, False): column for column in imported.columns}
        declared = {fold(column.name, False): column for column in columns}
        if not imported.complete and not imported.columns:
            return None
        extra = tuple(column.name for key, column in declared.items() if key not in have)
        missing = tuple(column.name for key, column in have.items() if complete and key not in declared)
        retyped = tuple(
            column.name
            for key, column in declared.items()
            if key in have
            # an inferred type may be wider or narrower than what an engine makes of it: it contradicts nothing
            and not column.inferred
            and not same_type(column.data_type, have[key].data_type, self.dialect)
        )
        if self.merge_columns:
            added = tuple(column._replace(origin="implied") for key, column in declared.items() if key not in have)
            if added:
                self._replace_imported(imported, imported.with_columns(imported.columns + added))
            mismatch = SchemaMismatch(imported.name, (), (), retyped)
        else:
            mismatch = SchemaMismatch(imported.name, missing, extra, retyped)
        if not mismatch:
            return None
        current = self._imported_like(imported)
        self._replace_imported(current, current.with_columns(current.columns, mismatch=True))
        return mismatch

    def _imported_like(self, table: CatalogTable) -> CatalogTable:
        return next(entry for entry in self._imported.values() if entry.parts == table.parts)

    def _replace_imported(self, old: CatalogTable, new: CatalogTable) -> None:
        for key, entry in self._imported.items():
            if entry is old:
                self._imported[key] = new

    def alter(self, parts: Sequence[NamePart], columns: Sequence[CatalogColumn]) -> SchemaMismatch | None:
        """Replaces the columns of an implied table; those of an imported table are only compared."""
        if not self.allow_implied:
            return None
        table = self.find(parts)
        if table is None:
            return None
        if table.origin == "imported":
            return self._compare(table, columns, table.complete)
        self._implied[self._implied_key(table)] = table.with_columns(tuple(columns))
        return None

    def _implied_key(self, table: CatalogTable) -> TableKey:
        return tuple(self.rules.table_key(part, True) for part in table.parts)

    def drop(self, parts: Sequence[NamePart]) -> None:
        """Removes an implied table; imported ones stay, because the user imported them."""
        table = self.find(parts)
        if table is not None and table.origin == "implied":
            del self._implied[self._implied_key(table)]

    def drop_schema(self, parts: Sequence[NamePart]) -> None:
        """Removes the implied tables of a schema."""
        prefix = self.key(parts)
        for key in [key for key in self._implied if key[:-1][-len(prefix) :] == prefix]:
            del self._implied[key]

    def renamed_parts(self, parts: Sequence[NamePart], new: Sequence[NamePart]) -> tuple[str, ...]:
        """The name that a table has after it was renamed: a bare one stays in its schema."""
        table = self.find(parts)
        target = [*parts[:-1], *new] if len(new) == 1 and len(parts) > 1 else new
        spelled = self.spelled(target)
        if len(target) == 1 and table is not None and len(table.parts) > 1:
            return (*table.parts[:-1], spelled[-1])
        return spelled

    def rename(self, parts: Sequence[NamePart], new: Sequence[NamePart], statement_index: int) -> None:
        """Gives a table a new name; an imported table keeps its old name too."""
        table = self.find(parts)
        if table is None or not new or not self.allow_implied:
            return
        spelled = self.renamed_parts(parts, new)
        self.drop(parts)
        renamed = table.renamed(spelled)
        if table.origin == "imported":
            renamed.origin = "implied"
            renamed.statement_index = statement_index
        self._implied[tuple(self.rules.table_key(part, True) for part in spelled)] = renamed

    def swap(self, parts: Sequence[NamePart], other: Sequence[NamePart]) -> None:
        """Exchanges the names of two implied tables."""
        one, two = self.find(parts), self.find(other)
        if one is None or two is None or "imported" in (one.origin, two.origin):
            return
        self._implied[self._implied_key(one)] = two.renamed(one.parts)
        self._implied[self._implied_key(two)] = one.renamed(two.parts)

    def known_tables(self) -> tuple[CatalogTable, ...]:
        """Every table known now, those that no statement used among them."""
        imported = sorted(self._all_imported().items(), key=lambda entry: self._places.get(entry[0], 0))
        return tuple(dict.fromkeys([*(table for _, table in imported), *self._implied.values()]))

    def tables(self) -> tuple[CatalogTable, ...]:
        """The tables that the statements so far used, imported ones first; what a script declares, it uses."""
        used = [(key, table) for key, table in self._imported.items() if table.parts in self._used]
        imported = [table for _, table in sorted(used, key=lambda entry: self._places.get(entry[0], 0))]
        return tuple(dict.fromkeys([*imported, *self._implied.values()]))
