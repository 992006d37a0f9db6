"""Lineage as a Mermaid flowchart: tables as boxes with their columns, dashed arrows for what is approximate."""

from lakebed.lineage.contract import VALUE_ROLES, AnalyzeResult
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import LineageGraph


def to_mermaid(result: AnalyzeResult, sources: ScriptTexts) -> str:
    """A `flowchart LR`; filters and joins are left out, as they would cover the flow of values."""
    graph = LineageGraph.of(result)
    lines = ["flowchart LR"]
    numbers: dict[tuple[str, str], str] = {}
    steps = [step for step in graph.steps() if step.role in VALUE_ROLES]
    used: dict[str, dict[str, None]] = {}
    for step in steps:
        for end in (step.source, step.target):
            used.setdefault(end.table, {})[end.column] = None
    for place, (table, columns) in enumerate(used.items()):
        lines.append(f"  subgraph t{place}[{_quoted(table)}]")
        for column in columns:
            numbers[table, column] = f"c{len(numbers)}"
            lines.append(f"    {numbers[table, column]}[{_quoted(column)}]")
        lines.append("  end")
    drawn: dict[str, None] = {}
    for step in steps:
        source = numbers[step.source.table, step.source.column]
        target = numbers[step.target.table, step.target.column]
        arrow = "-.->" if step.approximate else "-->"
        label = "" if step.role == "value" else f"|{step.role}|"
        drawn[f"  {source} {arrow}{label} {target}"] = None
    for statement in result.statements:
        if statement.target is not None:
            for edge in statement.table_lineage:
                if edge.approximate and edge.source not in used:
                    drawn[f"  {_box(edge.source)} -.-> {_box(statement.target)}"] = None
    return "\n".join([*lines, *drawn]) + "\n"


def _box(name: str) -> str:
    key = "x" + "".join(char if char.isalnum() and char.isascii() else f"_{ord(char):x}_" for char in name)
    return f"{key}[{_quoted(name)}]"


def _quoted(text: str) -> str:
    """Mermaid has no escape for a quote, only its entity."""
    shown = text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return f'"{shown or " "}"'
