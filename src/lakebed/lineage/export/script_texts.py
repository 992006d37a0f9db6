"""The analysed texts, which turn positions into file, line and column."""

from bisect import bisect_right
from collections.abc import Iterable

from lakebed.lineage.analyze import Script
from lakebed.lineage.contract import Issue, Span, StatementLineage


class ScriptTexts:
    """Texts by file, each with the places where its lines begin."""

    def __init__(self, scripts: Iterable[Script]) -> None:
        self._texts: dict[str | None, str] = {script.file: script.sql for script in scripts}
        self._lines: dict[str | None, list[int]] = {}

    def text(self, file: str | None, span: Span) -> str:
        """The characters of a span."""
        return self._texts.get(file, "")[span.start : span.end]

    def line_and_column(self, file: str | None, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        starts = self._lines.get(file)
        if starts is None:
            text = self._texts.get(file, "")
            starts = [0, *(place + 1 for place, char in enumerate(text) if char == "\n")]
            self._lines[file] = starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def place(self, issue: Issue) -> str:
        """`file:line:column`, as editors and compilers write it."""
        if issue.span is None:
            return issue.file or "script"
        line, column = self.line_and_column(issue.file, issue.span.start)
        return f"{issue.file or 'script'}:{line}:{column}"

    def sql(self, statement: StatementLineage) -> str:
        """The text of a statement."""
        return self.text(statement.file, statement.span)
