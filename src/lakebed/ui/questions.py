"""What requests of the explorer's API may say, checked before anything is done with it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from lakebed.ui.neighbourhood import Detail, Grouping
from lakebed.ui.overview import SortKey

Name = Annotated[str, Field(max_length=2_000)]
Names = Annotated[list[Name], Field(max_length=500)]
LONGEST_SQL = 2_000_000


class Question(BaseModel):
    """Parameters of a request; one that is not listed is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class OfAnalysis(Question):
    """Which analysis is meant: a key that an earlier answer gave; without one that of the files as they are now."""

    analysis: Annotated[str, Field(max_length=64, description="The key of an analysis.")] = ""


class OfFile(OfAnalysis):
    """One file of an analysis."""

    file: Name


class OfView(OfAnalysis):
    """A part of the lineage."""

    table: Annotated[Names, Field(description="Tables to begin from.")] = []
    column_table: Annotated[Name, Field(description="The table of the picked column.")] = ""
    column: Annotated[Name, Field(description="The picked column.")] = ""
    up: Annotated[int, Field(ge=0, le=50, description="Steps towards the sources.")] = 1
    down: Annotated[int, Field(ge=0, le=50, description="Steps towards the readers.")] = 1
    only: Annotated[bool, Field(description="The picked column's paths and nothing else.")] = False
    predicates: Annotated[bool, Field(description="Filters and joins too.")] = False
    expanded: Annotated[Names, Field(description="Tables that show every column in use.")] = []
    whole: Annotated[Names, Field(description="Tables that show every known column.")] = []
    grown_up: Annotated[Names, Field(description="Tables whose sources are shown besides.")] = []
    grown_down: Annotated[Names, Field(description="Tables whose readers are shown besides.")] = []
    hidden: Annotated[Names, Field(description="Tables that are not shown.")] = []
    group: Grouping = "none"
    opened: Annotated[Names, Field(description="Groups whose tables stand for themselves.")] = []
    detail: Detail = "auto"
    limit: Annotated[int, Field(ge=1, le=500, description="How many tables at most.")] = 60


class OfEdges(OfAnalysis):
    """Some rows of the list of edges."""

    search: Name = ""
    sort: SortKey = "statement"
    descending: bool = False
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, Field(ge=1, le=2_000)] = 200


class OfEdge(OfAnalysis):
    """One edge."""

    source: Name
    source_column: Name = ""
    target: Name
    target_column: Name = ""


class OfSearch(OfAnalysis):
    """A text to look for in names."""

    text: Name
    limit: Annotated[int, Field(ge=1, le=500)] = 50


class OfExport(OfAnalysis):
    """The whole lineage in one of the formats of `lakebed lineage`."""

    format: Literal["csv", "mermaid", "json", "text"] = "csv"


class OfSchemaExport(OfAnalysis):
    """The schema that was used, or the part of one origin."""

    view: Literal["hybrid", "imported", "implied"] = "hybrid"


class OfImpact(OfAnalysis):
    """Changes, as `lakebed impact` takes them."""

    column: Annotated[Names, Field(description="Columns or tables of which everything downstream is listed.")] = []
    drop: Annotated[Names, Field(description="Columns or tables that go.")] = []
    rename: Annotated[Names, Field(description="t.c=NAME")] = []
    retype: Annotated[Names, Field(description="t.c=TYPE")] = []


class OfTable(Question):
    """A table of the ledger."""

    table: Name


class OfAmounts(OfTable):
    """Sums of a decimal column by period, and by the values of a column of text."""

    measure: Annotated[Name, Field(description="The decimal column; without one the cost.")] = ""
    by: Annotated[Name, Field(description="The column of text.")] = ""


class OfLoad(OfTable):
    """One load of a delivery into a table."""

    payer: Name
    report: Name
    period: Name
    delivery: Name


class Nothing(Question):
    """A request without parameters."""


class DraftFile(Question):
    """A file as it is edited."""

    file: Annotated[str, Field(min_length=1, max_length=2_000)]
    sql: Annotated[str, Field(max_length=LONGEST_SQL)]


class ImportedColumn(BaseModel):
    """A column of the imported schema; what else an exported schema says of it is passed on."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: Annotated[str, Field(min_length=1, max_length=2_000)]


class ImportedTable(BaseModel):
    """A table of the imported schema, in the specification's shape."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: Annotated[str, Field(min_length=1, max_length=2_000)]
    columns: Annotated[list[ImportedColumn], Field(max_length=20_000)]


class AnalyseBody(Question):
    """Drafts in place of files, and tables for the imported schema. Nothing is written."""

    drafts: Annotated[list[DraftFile], Field(max_length=500)] = []
    tables: Annotated[list[ImportedTable], Field(max_length=20_000)] = []
    dialect: Annotated[str | None, Field(max_length=40)] = None


class SchemaAddressBody(Question):
    """Where a schema is: an address as `--schema` takes it, below the folders that the explorer was started with."""

    address: Annotated[str, Field(min_length=1, max_length=2_000)]
