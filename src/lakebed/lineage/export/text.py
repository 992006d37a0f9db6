"""Lineage as a tree that a person reads in a terminal."""

from collections.abc import Iterator

from lakebed.lineage.contract import AnalyzeResult, StatementLineage
from lakebed.lineage.export.script_texts import ScriptTexts

_SEVERITY_LABELS = {"error": "error", "warning": "warning", "info": "note"}


def to_text(result: AnalyzeResult, sources: ScriptTexts) -> str:
    """Statements with their columns and sources, then what is not known, then a line of counts."""
    lines: list[str] = []
    for statement in result.statements:
        lines += _statement(statement, sources)
        lines.append("")
    if result.issues:
        lines.append("What is not known")
        for issue in result.issues:
            lines.append(
                f"  {sources.place(issue)}: {_SEVERITY_LABELS[issue.severity]}: {issue.message} [{issue.code}]"
            )
            lines.append(f"      {issue.hint}")
        lines.append("")
    summary = result.summary
    lines.append(
        f"{_count(summary.statements, 'statement')}, {_count(summary.tables, 'table')}, "
        f"{_count(summary.columns, 'column')}; {_count(summary.errors, 'error')}, "
        f"{_count(summary.warnings, 'warning')}, {_count(summary.infos, 'note')}"
    )
    return "\n".join(lines) + "\n"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _statement(statement: StatementLineage, sources: ScriptTexts) -> Iterator[str]:
    line, _ = sources.line_and_column(statement.file, statement.span.start)
    where = f"{statement.file}:{line}" if statement.file else f"line {line}"
    target = f" {statement.target}" if statement.target else ""
    star = f", star: {statement.star_expansion}" if statement.star_expansion else ""
    yield f"{statement.statement_index + 1}. {statement.statement_type}{target}  ({where}{star})"
    flows: dict[tuple[int | None, str], list[str]] = {(place, name): [] for place, name in enumerate(statement.outputs)}
    decides: dict[str, list[str]] = {}
    for edge in statement.column_lineage:
        source = ".".join((edge.source_table, edge.source_column, *edge.path))
        doubt = " (approximate)" if edge.approximate else ""
        if edge.target_column is None:
            decides.setdefault(edge.role, []).append(source + doubt)
        else:
            role = "" if edge.role == "value" else f" [{edge.role}]"
            flows.setdefault((edge.position, edge.target_column), []).append(f"{source}{role}{doubt}")
    rows: list[tuple[str, list[str]]] = [(name or "(no name)", found) for (_, name), found in flows.items()]
    rows += [(f"{role} by", list(dict.fromkeys(found))) for role, found in decides.items()]
    read = [edge.source + (" (approximate)" if edge.approximate else "") for edge in statement.table_lineage]
    if read:
        rows.append(("reads", [", ".join(read)]))
    for number, (name, found) in enumerate(rows):
        last = number == len(rows) - 1
        yield f"{'└─' if last else '├─'} {name}"
        for place, source in enumerate(found):
            yield f"{'   ' if last else '│  '}{'└─' if place == len(found) - 1 else '├─'} {source}"
