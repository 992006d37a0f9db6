"""The explorer's API: every endpoint with what it takes, what it answers, and the function that knows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from lakebed.errors import ConfigError, NotFound
from lakebed.lineage.dialects import DIALECTS
from lakebed.lineage.export import export
from lakebed.model import Slice
from lakebed.ui import ledger_views, overview, schema_view, table_views
from lakebed.ui import questions as ask
from lakebed.ui.analyses import Analyses, Draft, Sources
from lakebed.ui.files import FileText, ProjectSummary, file_text, summarise
from lakebed.ui.neighbourhood import Neighbourhood, View, look_around
from lakebed.ui.places import EdgePlace, edge_places
from lakebed.ui.schema_import import import_schema


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is a file, not JSON."""

    content: str
    media_type: str
    name: str


@dataclass(frozen=True, slots=True)
class EdgePlaces:
    """Where the SQL makes an edge."""

    places: tuple[EdgePlace, ...]


@dataclass(frozen=True, slots=True)
class Welcome:
    """What the explorer was started with."""

    version: str
    dialect: str
    dialects: tuple[str, ...]
    has_sql: bool
    target: str | None
    live: bool = True


@dataclass(frozen=True)
class Endpoint:
    """One address of the API."""

    path: str
    summary: str
    question: type[ask.Question]
    answer: Any
    call: Callable[["Explorer", Any], object]
    method: Literal["GET", "POST"] = "GET"


class Explorer:
    """What the endpoints work on: the analyses, and where ledger and tables are."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.analyses = Analyses(sources)


def _welcome(explorer: Explorer, question: ask.Nothing) -> Welcome:
    from lakebed import __version__

    sources = explorer.sources
    return Welcome(__version__, sources.dialect, tuple(DIALECTS), sources.has_sql, sources.target)


def _project(explorer: Explorer, question: ask.OfAnalysis) -> ProjectSummary:
    return summarise(explorer.analyses.find(question.analysis), has_sql=explorer.sources.has_sql)


def _analyse(explorer: Explorer, body: ask.AnalyseBody) -> ProjectSummary:
    drafts = [Draft(draft.file, draft.sql) for draft in body.drafts]
    tables = [table.model_dump() for table in body.tables]
    analysis = explorer.analyses.of(drafts, tables, body.dialect)
    return summarise(analysis, has_sql=explorer.sources.has_sql)


def _file(explorer: Explorer, question: ask.OfFile) -> FileText:
    found = file_text(explorer.analyses.find(question.analysis), question.file)
    if found is None:
        raise NotFound(
            f"{question.file} is no file of this analysis", uri=question.file, remedy="Choose one of its files."
        )
    return found


def view_of(question: ask.OfView) -> View:
    """The view that a request describes."""
    picked = (question.column_table, question.column) if question.column else None
    return View(
        tables=tuple(question.table),
        column=picked,
        up=question.up,
        down=question.down,
        only=question.only,
        predicates=question.predicates,
        expanded=frozenset(question.expanded),
        whole=frozenset(question.whole),
        grown_up=frozenset(question.grown_up),
        grown_down=frozenset(question.grown_down),
        hidden=frozenset(question.hidden),
        group=question.group,
        opened=frozenset(question.opened),
        detail=question.detail,
        limit=question.limit,
    )


def _neighbourhood(explorer: Explorer, question: ask.OfView) -> Neighbourhood:
    analysis = explorer.analyses.find(question.analysis)
    return look_around(analysis.lineage, analysis.graph, view_of(question))


def _overview(explorer: Explorer, question: ask.OfAnalysis) -> overview.Overview:
    return explorer.analyses.find(question.analysis).overview


def _edges(explorer: Explorer, question: ask.OfEdges) -> overview.EdgeRows:
    analysis = explorer.analyses.find(question.analysis)
    return overview.list_edges(
        analysis.lineage,
        analysis.traced.result,
        search=question.search,
        sort=question.sort,
        descending=question.descending,
        offset=question.offset,
        limit=question.limit,
    )


def _matrix(explorer: Explorer, question: ask.OfAnalysis) -> overview.Matrix:
    return overview.matrix(explorer.analyses.find(question.analysis).lineage)


def _search(explorer: Explorer, question: ask.OfSearch) -> overview.SearchAnswer:
    lineage = explorer.analyses.find(question.analysis).lineage
    return overview.search_names(lineage, question.text, limit=question.limit)


def _places(explorer: Explorer, question: ask.OfEdge) -> EdgePlaces:
    analysis = explorer.analyses.find(question.analysis)
    return EdgePlaces(
        edge_places(
            analysis.traced,
            analysis.dialect,
            source=(question.source, question.source_column or None),
            target=(question.target, question.target_column or None),
        )
    )


MEDIA_TYPES = {"csv": "text/csv", "json": "application/json", "mermaid": "text/plain", "text": "text/plain"}
ENDINGS = {"csv": "csv", "json": "json", "mermaid": "mmd", "text": "txt"}


def _export(explorer: Explorer, question: ask.OfExport) -> Text:
    traced = explorer.analyses.find(question.analysis).traced
    content = export(traced.result, question.format, traced.texts)
    return Text(content, MEDIA_TYPES[question.format], f"lineage.{ENDINGS[question.format]}")


def _schema(explorer: Explorer, question: ask.OfAnalysis) -> schema_view.SchemaAnswer:
    return schema_view.schema_view(explorer.analyses.find(question.analysis))


def _schema_export(explorer: Explorer, question: ask.OfSchemaExport) -> dict[str, object]:
    schema = explorer.analyses.find(question.analysis).traced.result.resolved_schema
    if question.view == "hybrid":
        return schema.to_dict()
    return schema.by_origin(question.view).to_dict()


def _schema_import(explorer: Explorer, body: ask.SchemaAddressBody) -> dict[str, object]:
    return import_schema(explorer.sources, body.address)


def _impact(explorer: Explorer, question: ask.OfImpact) -> dict[str, object]:
    found = explorer.analyses.find(question.analysis).impact.of(
        question.column,
        drop=question.drop,
        rename=_pairs(question.rename),
        retype=_pairs(question.retype),
    )
    return found.to_dict()


def _pairs(texts: list[str]) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(f"{text} has no value", remedy="Write t.c=NEW.")
        pairs[name.strip()] = value
    return pairs


def _status(explorer: Explorer, question: ask.Nothing) -> dict[str, object]:
    return ledger_views.read_status(explorer.sources)


def _tables(explorer: Explorer, question: ask.Nothing) -> ledger_views.TableList:
    return ledger_views.known_tables(explorer.sources)


def _sums(explorer: Explorer, question: ask.OfLoad) -> ledger_views.LoadSums:
    slice_ = Slice(question.payer, question.report, question.period)
    return ledger_views.read_sums(explorer.sources, question.table, slice_, question.delivery)


def _history(explorer: Explorer, question: ask.OfTable) -> dict[str, object]:
    return ledger_views.read_history(explorer.sources, question.table)


def _columns(explorer: Explorer, question: ask.OfTable) -> table_views.ColumnsOverTime:
    return table_views.columns_over_time(explorer.sources, question.table)


def _amounts(explorer: Explorer, question: ask.OfAmounts) -> table_views.Amounts:
    return table_views.add_up(explorer.sources, question.table, measure=question.measure, by=question.by)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("/api/welcome", "What the explorer was started with.", ask.Nothing, Welcome, _welcome),
    Endpoint("/api/project", "Files, counts and issues of an analysis.", ask.OfAnalysis, ProjectSummary, _project),
    Endpoint(
        "/api/analyses",
        "Analyses SQL with drafts in place of files.",
        ask.AnalyseBody,
        ProjectSummary,
        _analyse,
        "POST",
    ),
    Endpoint("/api/file", "The SQL of a file, with statements and diagnostics.", ask.OfFile, FileText, _file),
    Endpoint("/api/neighbourhood", "A part of the lineage, placed.", ask.OfView, Neighbourhood, _neighbourhood),
    Endpoint("/api/overview", "Every table, placed.", ask.OfAnalysis, overview.Overview, _overview),
    Endpoint("/api/edges", "Every edge, sorted and searched.", ask.OfEdges, overview.EdgeRows, _edges),
    Endpoint("/api/matrix", "Tables against tables.", ask.OfAnalysis, overview.Matrix, _matrix),
    Endpoint("/api/search", "Tables and columns by name.", ask.OfSearch, overview.SearchAnswer, _search),
    Endpoint("/api/places", "Where the SQL makes an edge.", ask.OfEdge, EdgePlaces, _places),
    Endpoint("/api/export", "The lineage as CSV, Mermaid, JSON or text.", ask.OfExport, Text, _export),
    Endpoint("/api/schema", "Imported, implied and hybrid schema.", ask.OfAnalysis, schema_view.SchemaAnswer, _schema),
    Endpoint("/api/schema/export", "The schema, to be imported again.", ask.OfSchemaExport, dict, _schema_export),
    Endpoint("/api/schema/import", "Tables at an address.", ask.SchemaAddressBody, dict, _schema_import, "POST"),
    Endpoint("/api/impact", "What a change reaches and breaks.", ask.OfImpact, dict, _impact),
    Endpoint("/api/status", "Deliveries and loads of the ledger.", ask.Nothing, dict, _status),
    Endpoint("/api/tables", "Tables that may be asked for.", ask.Nothing, ledger_views.TableList, _tables),
    Endpoint("/api/sums", "The reconciliation of a load.", ask.OfLoad, ledger_views.LoadSums, _sums),
    Endpoint("/api/history", "Changes of a table's columns.", ask.OfTable, dict, _history),
    Endpoint("/api/columns", "Columns by period.", ask.OfTable, table_views.ColumnsOverTime, _columns),
    Endpoint("/api/amounts", "Sums by period, to the last digit.", ask.OfAmounts, table_views.Amounts, _amounts),
)
