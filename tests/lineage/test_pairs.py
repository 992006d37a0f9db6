"""SQL and the lineage it must have, pair by pair: the rules of the resolver as examples.

A pair is SQL below a header, with its expectation in comments:

    -- spark | t(a, b); app.u(c)
    SELECT a, max(b) OVER (PARTITION BY a) AS m FROM t
    --> SELECT : a <- t.a | m <- t.b, window t.a  tables=t
    --! CODE severity message

`~` marks what is approximate; `[filter:t.a join:u.c]` are the columns that decide about rows; the columns of a moved
table are `new.a <- old.a`.
"""

from pathlib import Path

import pytest

import lakebed
from lakebed.lineage import AnalyzeResult, StatementLineage

PAIRS = Path(__file__).parent / "pairs"


def schema(text: str) -> dict[str, object] | None:
    """`app.t(a, b); u(c)` as an imported schema."""
    tables = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, columns = part.rstrip(")").partition("(")
        *namespace, last = name.split(".")
        table: dict[str, object] = {
            "name": last,
            "columns": [{"name": column.strip()} for column in columns.split(",") if column.strip()],
        }
        if namespace:
            table["schema"] = namespace[-1]
        if len(namespace) > 1:
            table["catalog"] = namespace[-2]
        tables.append(table)
    return {"tables": tables} if tables else None


def shown(statement: StatementLineage) -> str:
    """A statement's lineage on one line."""
    columns: dict[tuple[int | None, str | None], list[str]] = {
        (place, name): [] for place, name in enumerate(statement.outputs)
    }
    predicates = set()
    for edge in statement.column_lineage:
        source = ".".join((edge.source_table, edge.source_column, *edge.path))
        if edge.target_column is None:
            predicates.add(f"{edge.role}:{source}")
            continue
        role = "" if edge.role == "value" else f"{edge.role} "
        text = f"{role}{'~' if edge.approximate else ''}{source}"
        moved = statement.target is None and edge.target_table is not None
        target = f"{edge.target_table}.{edge.target_column}" if moved else edge.target_column
        columns.setdefault((edge.position, target), []).append(text)
    body = " | ".join(f"{name} <- {', '.join(sources)}".rstrip() for (_, name), sources in columns.items())
    line = f"{statement.statement_type} {statement.target or ''}: {body}"
    if predicates:
        line += f"  [{' '.join(sorted(predicates))}]"
    if statement.table_lineage:
        tables = ",".join(edge.source + ("~" if edge.approximate else "") for edge in statement.table_lineage)
        line += f"  tables={tables}"
    if statement.star_expansion:
        line += f" star={statement.star_expansion}"
    return " ".join(line.split())


def report(result: AnalyzeResult) -> list[str]:
    lines = [f"--> {shown(statement)}" for statement in result.statements]
    return lines + [f"--! {issue.code} {issue.severity} {issue.message}" for issue in result.issues]


def pairs() -> list[tuple[str, str, str, tuple[str, ...]]]:
    found = []
    for path in sorted(PAIRS.glob("*.sql")):
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = block.strip().splitlines()
            if not lines or not lines[0].startswith("-- "):
                continue
            dialect, _, tables = lines[0][3:].partition("|")
            sql = "\n".join(line for line in lines[1:] if not line.startswith(("-->", "--!")))
            expected = tuple(line.rstrip() for line in lines if line.startswith(("-->", "--!")))
            found.append((dialect.strip(), tables.strip(), sql, expected))
    return found


@pytest.mark.parametrize(("dialect", "tables", "sql", "expected"), pairs(), ids=lambda value: str(value)[:60])
def test_pair(dialect: str, tables: str, sql: str, expected: tuple[str, ...]) -> None:
    result = lakebed.analyze(sql, dialect=dialect, schema=schema(tables))
    assert report(result) == list(expected)


def test_there_are_many_pairs() -> None:
    assert len(pairs()) > 150
