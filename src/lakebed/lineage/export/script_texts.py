"""The analysed texts, which turn positions into file, line and column."""

from bisect import bisect_right
from collections.abc import Iterable
from difflib import SequenceMatcher

from lakebed.lineage.analyze import Script
from lakebed.lineage.contract import Issue, Span, StatementLineage


class ScriptTexts:
    """Texts by file, each with the places where its lines begin."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        scripts = list(scripts)
        self._texts: dict[str | None, str] = {script.file: script.sql for script in scripts}
        self._templates = {script.file: script.template for script in scripts if script.template is not None}
        self._lines: dict[str | None, list[int]] = {}
        self._template_lines: dict[str | None, list[int]] = {}

    def text(self, file: str | None, span: Span) -> str:
        """The characters of a span."""
        return self._texts.get(file, "")[span.start : span.end]

    def line_and_column(self, file: str | None, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1; of a rendered template, the line of the file."""
        starts = self._lines.get(file)
        if starts is None:
            text = self._texts.get(file, "")
            starts = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]
            self._lines[file] = starts
        line = bisect_right(starts, offset)
        column = offset - starts[line - 1] + 1
        if file not in self._templates:
            return line, column
        lines = self._template_lines.get(file)
        if lines is None:
            lines = self._template_lines[file] = _lines_of_template(self._templates[file], self._texts[file])
        return lines[min(line, len(lines)) - 1], column

    def place(self, issue: Issue) -> str:
        """`file:line:column`, as editors and compilers write it."""
        if issue.span is None:
            return issue.file or "script"
        line, column = self.line_and_column(issue.file, issue.span.start)
        return f"{issue.file or 'script'}:{line}:{column}"

    def sql(self, statement: StatementLineage) -> str:
        """The text of a statement."""
        return self.text(statement.file, statement.span)


def _lines_of_template(template: str, sql: str) -> list[int]:
    """For each line of the SQL the line of its template: lines that are equal are the same, others lie in between."""
    written, made = template.splitlines() or [""], sql.splitlines() or [""]
    lines: list[int] = []
    for _, start, end, first, last in SequenceMatcher(None, written, made, autojunk=False).get_opcodes():
        lines += [min(start + place, max(start, end - 1)) + 1 for place in range(last - first)]
    return [min(line, len(written)) for line in lines] or [1]
