"""A lineage as a whole: every table with its place, every edge as a row, tables against tables, and names to find."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lakebed.lineage.contract import AnalyzeResult
from lakebed.ui.layout import Box, place_boxes
from lakebed.ui.lineage_map import LineageMap, Link

# In the overview a table is a small box without columns.
WIDTH, HEIGHT = 150, 22

SortKey = Literal["statement", "source", "target", "role"]


@dataclass(frozen=True, slots=True)
class Overview:
    """Every table and where it stands; edges are pairs of places in the list of tables."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, ...], ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge of the list."""

    source: str
    source_column: str | None
    target: str
    target_column: str | None
    role: str
    approximate: bool
    statement: int
    file: str | None


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Some rows of the list, and how many there are."""

    rows: tuple[EdgeRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Matrix:
    """How many columns of which table go into which; cells are (row, column, links, 1 where all are approximate)."""

    tables: tuple[str, ...]
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A table, or a column of it, that a search found."""

    table: str
    column: str | None
    kind: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """What a search found, the best first, and how many there are."""

    found: tuple[Found, ...]
    total: int


def overview(lineage: LineageMap) -> Overview:
    """The whole lineage, placed."""
    names = tuple(lineage.tables)
    number = {name: place for place, name in enumerate(names)}
    pairs = [(source, target) for source, targets in lineage.down.items() for target in targets]
    placed = place_boxes([Box(name, WIDTH, HEIGHT) for name in names], pairs)
    return Overview(
        names,
        tuple(lineage.tables[name].kind for name in names),
        tuple((placed[name].x, placed[name].y) for name in names),
        tuple((number[source], number[target]) for source, target in pairs),
        max((place.x for place in placed.values()), default=0) + WIDTH,
        max((place.y for place in placed.values()), default=0) + HEIGHT,
    )


def list_edges(
    lineage: LineageMap,
    result: AnalyzeResult,
    *,
    search: str = "",
    sort: SortKey = "statement",
    descending: bool = False,
    offset: int = 0,
    limit: int = 200,
) -> EdgeRows:
    """Every edge between columns, and those between tables of which no column is known."""
    files = {statement.statement_index: statement.file for statement in result.statements}
    told = {(link.source, link.target, link.statement) for link in lineage.links if link.source_column is not None}
    wanted = search.lower()
    links = [
        link
        for link in lineage.links
        if (link.source_column is not None or (link.source, link.target, link.statement) not in told)
        and (not wanted or wanted in _text(link))
    ]
    keys = {
        "statement": lambda link: (link.statement,),
        "source": lambda link: (link.source, link.source_column or ""),
        "target": lambda link: (link.target, link.target_column or ""),
        "role": lambda link: (link.role,),
    }
    links.sort(key=keys[sort], reverse=descending)
    rows = (
        EdgeRow(
            link.source,
            link.source_column,
            link.target,
            link.target_column,
            link.role,
            link.approximate,
            link.statement,
            files.get(link.statement),
        )
        for link in links[offset : offset + limit]
    )
    return EdgeRows(tuple(rows), len(links))


def _text(link: Link) -> str:
    ends = (link.source, link.source_column), (link.target, link.target_column)
    return " ".join([*(f"{table}.{column or ''}" for table, column in ends), link.role]).lower()


def matrix(lineage: LineageMap) -> Matrix:
    """Tables against tables, in the order in which they are made."""
    number = {name: place for place, name in enumerate(lineage.tables)}
    cells: dict[tuple[int, int], tuple[int, bool]] = {}
    for link in lineage.links:
        key = (number[link.source], number[link.target])
        count, approximate = cells.get(key, (0, True))
        cells[key] = (count + (link.source_column is not None), approximate and link.approximate)
    found = ((row, column, count, int(doubt)) for (row, column), (count, doubt) in sorted(cells.items()))
    return Matrix(tuple(number), tuple(found))


def search_names(lineage: LineageMap, text: str, *, limit: int = 50) -> SearchAnswer:
    """Tables and columns whose names contain a text: those that begin with it first, tables before columns."""
    wanted = text.strip().lower()
    if not wanted:
        return SearchAnswer((), 0)
    ranked: list[tuple[tuple[int, int, str], Found]] = []
    for name, table in lineage.tables.items():
        ranked += _ranked(wanted, name, Found(name, None, table.kind), tables=True)
        for column in table.columns:
            ranked += _ranked(wanted, f"{name}.{column.name}", Found(name, column.name, "column"), tables=False)
    ranked.sort(key=lambda one: one[0])
    return SearchAnswer(tuple(found for _, found in ranked[:limit]), len(ranked))


def _ranked(wanted: str, name: str, found: Found, *, tables: bool) -> Iterable[tuple[tuple[int, int, str], Found]]:
    folded = name.lower()
    own = (found.column or name).lower()
    # a column is found by its own name, or by the table's where that is written before it
    if wanted not in own and not (not tables and "." in wanted and wanted in folded):
        return
    rank = 0 if wanted in (own, folded) else 1 if own.startswith(wanted) or folded.startswith(wanted) else 2
    yield (rank, 0 if tables else 1, folded), found
