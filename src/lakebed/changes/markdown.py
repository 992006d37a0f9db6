"""Results as a comment that a person reads on GitHub: what matters first, long lists folded."""

from collections.abc import Iterable, Sequence

from lakebed.changes.compare import ComparedEdge, LineageDifference
from lakebed.changes.findings import CheckResult, Finding
from lakebed.changes.result import ImpactResult

# GitHub refuses comments of more than 65,536 characters.
_MOST_ROWS = 100


def impact_comment(result: ImpactResult) -> str:
    """What breaks as a table, what is reached folded below it."""
    what = ", ".join(_code(str(change)) for change in result.changes)
    lines = [f"### Impact of {what}", ""]
    if result.breaks:
        lines += [f"**{_count(len(result.breaks), 'statement')} would break.**", ""]
        lines += _table(
            ("where", "column", "role", "why"),
            [
                (_code(str(one.place)), _code(_name(one.table, one.column)), ", ".join(one.roles), _text(one.reason))
                for one in result.breaks
            ],
        )
    else:
        lines.append("Nothing breaks.")
    lines.append("")
    if result.reached:
        rows = [
            (
                _code(_name(one.table or "", one.column)),
                one.role + (" (approximate)" if one.approximate else ""),
                _code(str(one.place)),
                _code(" → ".join(one.path)),
            )
            for one in result.reached
        ]
        lines += _folded(f"{_count(len(rows), 'column')} downstream", ("reached", "role", "where", "path"), rows)
    else:
        lines.append("Nothing reads it.")
    if result.unknown:
        lines += ["", f"{_count(len(result.unknown), 'place')} could not be analysed and may be reached too."]
    return "\n".join(lines) + "\n"


def check_comment(result: CheckResult) -> str:
    """What breaks, what is NULL in new rows, and notes folded below."""
    what = "after the next delivery" if result.against is not None else "as they are"
    lines = [f"### Saved queries and the tables of {_code(result.target)} {what}", ""]
    errors, warnings, notes = result.of("error"), result.of("warning"), result.of("note")
    header = ("where", "column", "what happens", "what to do")
    if errors:
        lines += [f"**{_count(len(errors), 'place')} would break.**", "", *_table(header, _findings(errors)), ""]
    if warnings:
        heading = f"{_count(len(warnings), 'place')} would find nothing but NULL in new rows."
        lines += [heading, "", *_table(header, _findings(warnings)), ""]
    if not errors and not warnings:
        lines += ["Nothing breaks.", ""]
    if notes:
        lines += [*_folded(_count(len(notes), "note"), header, _findings(notes)), ""]
    for warning in result.warnings:
        lines.append(f"- {_text(warning)}")
    if result.unknown:
        lines.append(f"- {_count(len(result.unknown), 'place')} could not be analysed.")
    lines.append(f"- {result.checked} of {_count(result.statements, 'statement')} read the target.")
    return "\n".join(lines) + "\n"


def _findings(findings: Sequence[Finding]) -> list[tuple[str, ...]]:
    return [
        (_code(str(one.place)), _code(one.column or one.table or ""), _text(one.reason), _text(one.remedy))
        for one in findings
    ]


def difference_comment(difference: LineageDifference) -> str:
    """Edges gained and lost, each folded."""
    lines = ["### Lineage", ""]
    if difference.same:
        return "### Lineage\n\nNo edge was gained or lost.\n"
    facts = [
        ("tables gained", difference.tables_gained),
        ("tables lost", difference.tables_lost),
        ("columns gained", difference.columns_gained),
        ("columns lost", difference.columns_lost),
    ]
    for what, names in facts:
        if names:
            shown = ", ".join(_code(name) for name in names[:_MOST_ROWS])
            lines.append(f"- {what}: {shown}{_more(names)}")
    if any(names for _, names in facts):
        lines.append("")
    for what, edges in (("lost", difference.lost), ("gained", difference.gained)):
        if edges:
            heading = f"{_count(len(edges), 'edge')} {what}"
            lines += [*_folded(heading, ("from", "to", "role", "where"), _edges(edges)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _edges(edges: Sequence[ComparedEdge]) -> list[tuple[str, ...]]:
    return [
        (_code(edge.source), _code(edge.target), edge.role, _code(f"{edge.file or 'script'}:{edge.line}"))
        for edge in edges
    ]


def _folded(heading: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["<details>", f"<summary>{heading}</summary>", "", *_table(header, rows), "", "</details>"]


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [_row(header), _row(["---"] * len(header))]
    lines += [_row(row) for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        lines += ["", f"and {len(rows) - _MOST_ROWS} more"]
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _name(table: str, column: str | None) -> str:
    return f"{table}.{column}" if column else table


def _code(text: str) -> str:
    """A code span; a name may hold backticks, pipes and line ends, which would end the cell."""
    plain = " ".join(text.split()).replace("|", "\\|")
    fence = "``" if "`" in plain else "`"
    space = " " if "`" in plain else ""
    return f"{fence}{space}{plain}{space}{fence}"


def _text(text: str) -> str:
    escaped = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")
    return escaped.replace("@", "@\u200b")


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _MOST_ROWS} more" if len(names) > _MOST_ROWS else ""


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
