"""What the rules share while they resolve one statement: the catalog, the issues, and what was read so far."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from lakebed.lineage.budget import Budget
from lakebed.lineage.catalog import Catalog
from lakebed.lineage.contract import Issue, ResolutionSource, Severity, Span, StarExpansion, StatementLineage, TableUse
from lakebed.lineage.dialects import Dialect
from lakebed.lineage.pieces import Piece
from lakebed.lineage.relations import Ref, Refs, Relation, UnknownTable
from lakebed.lineage.run_time_names import is_run_time_name
from lakebed.lineage.tables import CatalogTable, NamePart

if TYPE_CHECKING:
    from lakebed.lineage.scope import Cte, Scope
    from lakebed.lineage.transformations import ExplainedParts
    from lakebed.lineage.type_checks import TypedParts

Env = Mapping[str, "Cte"]
StatementRule = Callable[[exp.Expr, "Context"], list[StatementLineage]]
ColumnFieldRule = Callable[[Relation, str, Sequence[str], "Context"], Refs | None]
ValueFieldRule = Callable[[exp.Expr, Sequence[str], "Scope", "Context"], Refs | None]
QueryRule = Callable[[exp.Expr, Env, "Scope | None", "Context"], Relation]

HINT_SCHEMA = (
    "Add the table with its columns to the imported schema, or put its CREATE statement earlier in the script."
)
HINT_SPELLING = "Check its spelling, or the schema that says which columns the table has."
HINT_ALIAS = "Check the alias before the dot against the FROM clause."
HINT_RUN_TIME_NAME = "Only a run knows which table this is; analyse the script with the table's name in its place."
HINT_STRUCT = "Give the column's type in the imported schema, with its fields."


class Rules(NamedTuple):
    """Rules that need each other: they meet in the context, so that no import is circular."""

    resolve_query: QueryRule
    analyze_statement: StatementRule
    # the sources of a field of a struct: of a column that a query made, and of any value
    column_field: ColumnFieldRule
    value_field: ValueFieldRule


class Reads(NamedTuple):
    """What a part of a statement reads besides the sources of its columns: tables, predicates, stars."""

    used: dict[str, TableUse]
    predicates: dict[Ref, None]
    unexpanded: set[str]
    stars: list[StarExpansion]


class Context:
    """One statement under analysis."""

    __slots__ = (
        "_reported",
        "analyze_statement",
        "budget",
        "catalog",
        "column_field",
        "column_key",
        "column_spelling",
        "dialect",
        "env",
        "explained",
        "index",
        "issues",
        "meets_columns",
        "nested",
        "offset",
        "piece",
        "predicates",
        "references",
        "resolve_query",
        "rules",
        "span",
        "spend",
        "stars",
        "stars_matter",
        "typed",
        "unexpanded",
        "used",
        "value_field",
    )

    def __init__(
        self,
        catalog: Catalog,
        index: int,
        span: Span,
        offset: int,
        rules: Rules,
        env: Env | None = None,
        *,
        piece: Piece | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.catalog = catalog
        self.dialect: Dialect = catalog.dialect
        self.column_key = catalog.rules.column_key
        self.column_spelling = catalog.rules.column_spelling
        self.index = index
        self.span = span
        self.offset = offset
        self.rules = rules
        self.resolve_query, self.analyze_statement, self.column_field, self.value_field = rules
        # CTEs around a statement that stands inside of WITH, and the lineage of such statements
        self.env: Env = env or {}
        self.nested: list[StatementLineage] = []
        self.issues: list[Issue] = []
        # tables read, in order, with what they are and how they were known
        self.used: dict[str, TableUse] = {}
        # tables behind a star that could not be expanded
        self.unexpanded: set[str] = set()
        # columns that decide about rows: (table, column, path, "filter" | "join", approximate)
        self.predicates: dict[Ref, None] = {}
        self.stars: list[StarExpansion] = []
        # what the statement names, and where first; None where nobody asks
        self.references: dict[tuple[str, str], int] | None = None
        # what has types that can be compared; None where nobody asks
        self.typed: TypedParts | None = None
        # what the statement writes and what it is made of; None where nobody asks
        self.explained: ExplainedParts | None = None
        # whether an expression has COLUMNS(...) in it and stands for several
        self.meets_columns = False
        # false inside of EXISTS, where `*` stands for no columns at all
        self.stars_matter = True
        # the procedure or block around, where there is one
        self.piece = piece
        self.budget = budget if budget is not None else Budget(span.end - span.start)
        # counts steps, so that no statement can hang an analysis
        self.spend = self.budget.spend
        self._reported: set[tuple[str, str]] = set()

    def nested_context(self, env: Env) -> "Context":
        """A context of the same statement for a part that writes a table of its own."""
        inner = Context(
            self.catalog,
            self.index,
            self.span,
            self.offset,
            self.rules,
            env,
            piece=self.piece,
            budget=self.budget,
        )
        inner.references = self.references
        inner.typed = self.typed
        return inner

    # -- names

    def key_of(self, identifier: exp.Expr) -> str:
        """The key by which a name compares; a node that is no identifier counts by its text."""
        args = identifier.args
        text = args.get("this")
        return self.column_key(text if type(text) is str else identifier.name, args.get("quoted") is True)

    def spelling_of(self, identifier: exp.Expr) -> str:
        """The spelling in which a name is shown."""
        args = identifier.args
        text = args.get("this")
        return self.column_spelling(text if type(text) is str else identifier.name, args.get("quoted") is True)

    # -- tables

    def read_table(self, parts: list[NamePart], node: exp.Expr | None) -> Relation:
        """The columns of a table that the statement reads; an unknown table is an issue and has any column."""
        table = self.catalog.find(parts)
        if self.references is not None:
            name = table.name if table is not None else self.catalog.name_of(parts)
            self.references.setdefault((name, ""), self.span_of(node).start)
        if table is None:
            name = self.catalog.name_of(parts)
            if name not in self.used:
                self.used[name] = TableUse(name, "table", "unknown")
            self.report_unknown_table(name, parts, node)
            return Relation([], [], [], unknown=UnknownTable(name), table=name)
        name = table.name
        if name not in self.used:
            self.used[name] = TableUse(name, table.kind, table.origin)
        return table.relation()

    def refer(self, refs: Refs, node: exp.Expr | None) -> None:
        """Remembers that the statement names these columns, where an analysis asks for it."""
        if self.references is not None:
            for table, column, *_ in refs:
                if (table, column) not in self.references:
                    self.references[table, column] = self.span_of(node).start

    def report_unknown_table(
        self, name: str, parts: list[NamePart], node: exp.Expr | None, *, target: bool = False
    ) -> None:
        """Reports an unknown table, once per statement."""
        if ("UNKNOWN_TABLE", name) in self._reported:
            return
        self._reported.add(("UNKNOWN_TABLE", name))
        similar = self.catalog.similar(parts)
        hint = HINT_RUN_TIME_NAME if is_run_time_name(name) else HINT_SCHEMA
        if similar is not None and similar != name:
            hint = f"There is a table {similar}: set defaultSchema or searchPath, or write the full name."
        severity: Severity = "info" if target or not self.catalog.has_imported else "warning"
        what = "the columns of the target" if target else "the columns of"
        self.issue("UNKNOWN_TABLE", severity, f"{what} {name} are not known", hint, node, resolution_source="unknown")

    def find_table(self, parts: list[NamePart]) -> CatalogTable | None:
        return self.catalog.find(parts)

    # -- reads and issues

    @contextmanager
    def collect_reads(self) -> Iterator[Reads]:
        """Keeps what a part reads apart from the statement's: a CTE's reads count only where the CTE is read."""
        around = Reads(self.used, self.predicates, self.unexpanded, self.stars)
        part = Reads({}, {}, set(), [])
        self.used, self.predicates, self.unexpanded, self.stars = part
        try:
            yield part
        finally:
            self.used, self.predicates, self.unexpanded, self.stars = around

    def note_sources(self, refs: Refs) -> Refs:
        """Counts the tables behind a variable or a record as read by this statement."""
        for ref in refs:
            if ref[0] not in self.used:
                self.used[ref[0]] = TableUse(ref[0], "table", self.catalog.origin_of(ref[0]))
        return refs

    def add_reads(self, reads: Reads) -> None:
        """Counts what a part reads as read by the statement."""
        for name, use in reads.used.items():
            self.used.setdefault(name, use)
        self.predicates.update(reads.predicates)
        self.unexpanded |= reads.unexpanded
        self.stars += [star for star in dict.fromkeys(reads.stars) if star not in self.stars]

    def predicate(self, refs: Refs, role: str) -> None:
        """Columns that decide which rows there are."""
        for table, column, path, _, approximate in refs:
            self.predicates[table, column, path, role, approximate] = None

    def issue(
        self,
        code: str,
        severity: Severity,
        message: str,
        hint: str,
        node: exp.Expr | None = None,
        *,
        resolution_source: ResolutionSource | None = None,
    ) -> None:
        span = self.span_of(node)
        self.issues.append(Issue(code, severity, message, hint, self.index, span, None, resolution_source))

    def issue_once(
        self,
        code: str,
        severity: Severity,
        about: str,
        message: str,
        hint: str,
        node: exp.Expr | None = None,
        *,
        resolution_source: ResolutionSource | None = None,
    ) -> None:
        """Reports an issue only once per statement and subject."""
        if (code, about) not in self._reported:
            self._reported.add((code, about))
            self.issue(code, severity, message, hint, node, resolution_source=resolution_source)

    def resolution_of(self, tables: Iterable[str]) -> ResolutionSource:
        """Where the columns of the first of these tables are known from; a query's own columns are implied."""
        for name in tables:
            use = self.used.get(name)
            return use.resolution_source if use is not None else self.catalog.origin_of(name)
        return "implied"

    def span_of(self, node: exp.Expr | None) -> Span:
        """Characters of a node, from the tokens that it was made of; the statement's where it has none."""
        if node is None:
            return self.span
        starts_and_ends = _position(node)
        if starts_and_ends is None:
            return self.span
        start, end = starts_and_ends
        return Span(start + self.offset, end + 1 + self.offset)

    @property
    def star_expansion(self) -> StarExpansion | None:
        """Full where every star was expanded, none where no star was, else partial."""
        seen = set(self.stars)
        if not seen:
            return None
        if len(seen) == 1:
            return self.stars[0]
        return "partial"


def _position(node: exp.Expr) -> tuple[int, int] | None:
    first: int | None = None
    last = -1
    for part in node.walk():
        meta = part._meta
        if meta and meta.get("start") is not None and meta.get("end") is not None:
            start, end = meta["start"], meta["end"]
            first = start if first is None or start < first else first
            last = max(last, end)
    return None if first is None else (first, last)
