"""The lineage of scripts: statements in order, each resolved with what the ones before it declared."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from sqlglot import exp

from lakebed.errors import LineageError
from lakebed.lineage.budget import TooManySteps
from lakebed.lineage.catalog import Catalog
from lakebed.lineage.context import Context, Rules
from lakebed.lineage.contract import AnalyzeResult, Issue, Reference, StatementLineage
from lakebed.lineage.deep_stack import on_deep_stack
from lakebed.lineage.dialects import DIALECTS, find_dialect
from lakebed.lineage.gc_pause import defer_full_collections
from lakebed.lineage.parse import ParsedStatement, ScriptParser, without_warnings
from lakebed.lineage.pieces import Piece
from lakebed.lineage.query import resolve_query
from lakebed.lineage.renamed_unknown import follow_renames
from lakebed.lineage.statements import analyze_statement
from lakebed.lineage.statements.select import query_target
from lakebed.lineage.statements.session import report_unsupported
from lakebed.lineage.statements.unparsed import named_lineage
from lakebed.lineage.struct_values import column_field_refs, value_field_refs
from lakebed.lineage.tables import NamePart
from lakebed.lineage.transformations import ExplainedParts, explain
from lakebed.lineage.type_checks import TypedParts, report_type_conflicts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from sqlalchemy import Engine

LineageSchema: TypeAlias = (
    "Mapping[str, object] | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Engine | SparkSession | None"
)
"""Where tables are known from: a mapping, JSON text, one or several addresses, or what has a catalog to read."""

_RULES = Rules(resolve_query, analyze_statement, column_field_refs, value_field_refs)
HINT_SYNTAX = "Check the text around this place, and that the dialect is the right one."


# What Oracle's own packages are called that print, raise or wait.
_WITHOUT_LINEAGE = (
    "put_line",
    "raise_application_error",
    "sleep",
    "put",
    "new_line",
    "set_module",
    "gather_table_stats",
)


class ScriptTarget(NamedTuple):
    """The table or view that a script's only query makes, as a model of a project does."""

    parts: tuple[NamePart, ...]
    kind: Literal["view", "table"] = "view"


class Script(NamedTuple):
    """Text to analyse, and where it came from."""

    sql: str
    file: str | None = None
    # what a script that is one query makes of its rows; without it, they go to the client
    target: ScriptTarget | None = None
    # the text as it lies in the file, where `sql` was made from a template
    template: str | None = None


class Analyzer:
    """An analysis that takes one script after the other; tables that one declares are known to the next."""

    def __init__(
        self,
        *,
        dialect: str = "spark",
        schema: Mapping[str, object] | None = None,
        allow_implied: bool = True,
        merge_columns: bool = False,
        references: bool = False,
        check_types: bool = False,
        transformations: bool = False,
    ) -> None:
        found = find_dialect(dialect)
        if found is None:
            raise LineageError(f"the dialect {dialect!r} is not known", remedy=f"Choose one of {', '.join(DIALECTS)}.")
        self.dialect = found
        self.catalog = Catalog(found, schema, allow_implied=allow_implied, merge_columns=merge_columns)
        self._parser = ScriptParser(found)
        # whether each statement remembers what it names, for those who ask what a change breaks
        self._references = references
        # whether types that do not fit are issues, for those who ask what a new type breaks
        self._check_types = check_types
        # whether each statement says how its values are made, for exports that tell it
        self._transformations = transformations
        self._statements: list[StatementLineage] = []
        self._issues: list[Issue] = []
        self._index = 0

    def parse(self, script: Script) -> list[ParsedStatement]:
        """The statements of a script; a script's only query makes the script's target."""
        parsed = list(self._parser.statements(script.sql))
        if script.target is not None:
            queries = [place for place, statement in enumerate(parsed) if _is_query(statement.tree)]
            if len(queries) == 1:
                [place] = queries
                parsed[place] = replace(parsed[place], tree=_creation(parsed[place].tree, script.target))
        return parsed

    def add(self, script: Script) -> None:
        """Analyses the statements of one script."""
        if script.target is not None:
            self.add_parsed(self.parse(script), script.file)
            return
        for parsed in self._parser.statements(script.sql):
            self._add(parsed, script.file)

    def add_parsed(self, statements: Iterable[ParsedStatement], file: str | None) -> None:
        """Analyses statements that `parse` gave."""
        for parsed in statements:
            self._add(parsed, file)

    def _add(self, parsed: ParsedStatement, file: str | None) -> None:
        ctx = Context(
            self.catalog,
            self._index,
            parsed.span,
            parsed.offset,
            _RULES,
            piece=parsed.piece,
        )
        self._index += 1
        if self._references:
            ctx.references = {}
        if self._check_types:
            ctx.typed = TypedParts()
        if self._transformations:
            ctx.explained = ExplainedParts()
        if parsed.piece is not None and parsed.piece.routine is not None:
            self._head(parsed.piece, parsed.piece.routine, ctx)
        elif parsed.problem is not None or parsed.tree is None:
            self._unparsed(parsed, ctx)
        else:
            self._resolve(parsed.tree, parsed.is_deep, ctx)
        self._issues += ctx.issues if file is None else [replace(issue, file=file) for issue in ctx.issues]
        if file is None and not ctx.references:
            return
        references = tuple([Reference(*name, start) for name, start in (ctx.references or {}).items()])
        for place in range(len(self._statements) - 1, -1, -1):
            statement = self._statements[place]
            if statement.statement_index != ctx.index:
                break
            self._statements[place] = replace(statement, file=file, references=references)

    def _resolve(self, tree: exp.Expr, is_deep: bool, ctx: Context) -> None:
        try:
            with without_warnings():
                found = on_deep_stack(lambda: analyze_statement(tree, ctx)) if is_deep else analyze_statement(tree, ctx)
            if ctx.explained is not None and len(found) == 1:
                found = [replace(found[0], transformations=explain(ctx.explained, ctx))]
            self._statements += [*ctx.nested, *found]
            if ctx.typed is not None:
                report_type_conflicts(ctx.typed, ctx)
        except (RecursionError, TooManySteps) as error:
            deep = isinstance(error, RecursionError)
            ctx.issues.append(
                Issue(
                    "TOO_COMPLEX",
                    "error",
                    f"the statement {'is nested too deeply' if deep else 'takes too many steps'} to be analysed",
                    "Split it into several statements.",
                    ctx.index,
                    ctx.span,
                )
            )
            self._statements.append(_without_lineage("UNKNOWN", ctx))
        except LineageError:
            # a mistake in the imported schema, found when its table is read
            raise
        except Exception as error:  # noqa: BLE001
            # sqlglot's trees carry no types, and what it accepts of broken SQL can have any shape: this statement is an
            # issue, and the others keep their lineage.
            ctx.issues.append(
                Issue(
                    "UNSUPPORTED_SYNTAX",
                    "error",
                    f"the form of this statement is not supported ({type(error).__name__})",
                    HINT_SYNTAX,
                    ctx.index,
                    ctx.span,
                )
            )
            self._statements.append(_without_lineage("UNKNOWN", ctx))

    def _head(self, piece: Piece, kind: str, ctx: Context) -> None:
        """The head of a procedure, whose statements follow; or a statement that moves no data."""
        if kind == "CALL":
            if piece.name not in self.catalog.routines and not piece.name.startswith(_WITHOUT_LINEAGE):
                report_unsupported(ctx, "CALL")
        elif piece.name:
            self.catalog.routines.add(piece.name)
        if piece.problem is not None:
            ctx.issue(
                "UNSUPPORTED_SYNTAX",
                "warning",
                piece.problem,
                "Its lineage is missing; if it defines a table, add that to the imported schema.",
            )
        self._statements.append(_without_lineage(kind, ctx))

    def _unparsed(self, parsed: ParsedStatement, ctx: Context) -> None:
        """What cannot be parsed is an issue; the tables that it names are kept, marked approximate."""
        problem = parsed.problem
        ctx.issues.append(
            Issue(
                "PARSE_ERROR",
                "error",
                problem.message if problem is not None else "there is no statement here",
                HINT_SYNTAX,
                ctx.index,
                problem.span if problem is not None else parsed.span,
            )
        )
        self._statements.append(named_lineage(parsed.named, ctx) if parsed.named else _without_lineage("UNKNOWN", ctx))

    def result(self) -> AnalyzeResult:
        """The lineage and issues of all scripts so far."""
        statements = self._statements
        if self.catalog.unknown_renames:
            statements = follow_renames(statements, self.catalog.unknown_renames, self.catalog.rules.column_key)
        return AnalyzeResult(
            statements=tuple(statements),
            issues=tuple(self._issues),
            dialect=self.dialect.name,
            catalog_tables=self.catalog.tables(),
            updated_at=self.catalog.updated_at,
        )


def _is_query(tree: exp.Expr | None) -> bool:
    """Whether a statement is a query whose rows go to the client."""
    return isinstance(tree, exp.Query | exp.Values) and query_target(tree) is None


def _creation(query: exp.Expr | None, target: ScriptTarget) -> exp.Expr:
    """The CREATE statement that makes a table or view of a query; the query keeps its positions in the text."""
    names = [exp.to_identifier(part.text, quoted=part.quoted) for part in target.parts]
    table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(names), strict=False)))
    return exp.Create(this=table, kind=target.kind.upper(), expression=query)


def _without_lineage(kind: str, ctx: Context) -> StatementLineage:
    return StatementLineage(ctx.index, kind, ctx.span, None, (), None, (), (), ())


def analyze(
    sql: str | Iterable[Script],
    *,
    dialect: str = "spark",
    schema: LineageSchema = None,
    allow_implied: bool = True,
    merge_columns: bool = False,
    transformations: bool = False,
) -> AnalyzeResult:
    """The lineage of a script: which column of which statement comes from which, and issues for what is not known.

    `schema` is the imported schema: a mapping as the contract describes it, its JSON text, an address as `--schema`
    takes it (a file, `duckdb:FILE`, `iceberg:NS`, `dbt:DIR`, a database's URL), several of them, a Spark session or an
    SQLAlchemy engine. With `transformations` each statement says how its values are made, which OpenLineage wants to
    know. Nothing in the SQL raises: what cannot be parsed or resolved is an issue of the result.

    >>> result = lakebed.analyze("CREATE VIEW v AS SELECT cost * 2 AS twice FROM bills", dialect="duckdb")
    >>> [(edge.source_table, edge.source_column, edge.target_column) for edge in result.statements[0].column_lineage]
    [('bills', 'cost', 'twice')]
    """
    analyzer = Analyzer(
        dialect=dialect,
        schema=imported_schema(schema, dialect=dialect),
        allow_implied=allow_implied,
        merge_columns=merge_columns,
        transformations=transformations,
    )
    with defer_full_collections():
        for script in [Script(sql)] if isinstance(sql, str) else sql:
            analyzer.add(script)
        result = analyzer.result()
        # its parser holds the last tokens, half of what the collection that was put off would look at
        del analyzer
        return result


def imported_schema(schema: LineageSchema, *, dialect: str = "spark") -> Mapping[str, object] | None:
    """The imported schema as the contract's mapping, from wherever it lives."""
    if schema is None or isinstance(schema, Mapping):
        return schema
    if isinstance(schema, str) and schema.lstrip().startswith("{"):
        try:
            loaded = json.loads(schema)
        except json.JSONDecodeError as error:
            raise LineageError(f"the schema is not JSON: {error}", remedy='Give {"tables": [...]}.') from error
        if not isinstance(loaded, dict):
            raise LineageError("the schema is not a JSON object", remedy='Give {"tables": [...]}.')
        return loaded
    # only those who give an address need what reads them
    from lakebed.lineage.imports import load_schema

    addresses = schema if isinstance(schema, list | tuple) else [schema]
    return load_schema([os.fspath(one) if isinstance(one, os.PathLike) else one for one in addresses], dialect=dialect)
