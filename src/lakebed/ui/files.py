"""The SQL as the explorer shows it: texts, the statements in them, what is doubtful, and what each name means."""

from collections import Counter
from dataclasses import dataclass

from lakebed.lineage.graph import result_name
from lakebed.ui.analyses import STDIN, Analysis


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in the list."""

    name: str
    statements: int
    errors: int
    warnings: int
    # whether its SQL was rendered from a template
    rendered: bool


@dataclass(frozen=True, slots=True)
class StatementEntry:
    """A statement of a file, by its characters."""

    index: int
    type: str
    table: str
    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An issue, with its characters where it has some."""

    code: str
    severity: str
    message: str
    hint: str
    file: str | None
    statement: int | None
    start: int | None
    end: int | None
    line: int | None


@dataclass(frozen=True, slots=True)
class NameInText:
    """A column, or a table without one, that a statement names."""

    table: str
    column: str | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file with everything that is known of it."""

    name: str
    sql: str
    rendered: bool
    statements: tuple[StatementEntry, ...]
    diagnostics: tuple[Diagnostic, ...]
    names: tuple[NameInText, ...]


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """What an analysis consists of."""

    analysis: str
    dialect: str
    statements: int
    tables: int
    columns: int
    errors: int
    warnings: int
    infos: int
    files: tuple[FileEntry, ...]
    diagnostics: tuple[Diagnostic, ...]
    has_sql: bool


# A project of thousands of files may have as many issues; the first of them are enough for a list.
MOST_DIAGNOSTICS = 500


def summarise(analysis: Analysis, *, has_sql: bool) -> ProjectSummary:
    """The files of an analysis, with counts."""
    result = analysis.traced.result
    statements = Counter(statement.file or STDIN for statement in result.statements)
    issues = Counter((issue.file or STDIN, issue.severity) for issue in result.issues)
    rendered = {script.file or STDIN: script.template is not None for script in analysis.scripts}
    # a file that could not be read has issues, and no script
    names = dict.fromkeys([*sorted(rendered), *(issue.file for issue in result.issues if issue.file)])
    summary = result.summary
    return ProjectSummary(
        analysis.key,
        analysis.dialect,
        summary.statements,
        len(analysis.lineage.tables),
        sum(len(table.columns) for table in analysis.lineage.tables.values()),
        summary.errors,
        summary.warnings,
        summary.infos,
        tuple(
            FileEntry(
                name,
                statements[name],
                issues[name, "error"],
                issues[name, "warning"],
                rendered.get(name, False),
            )
            for name in names
        ),
        diagnostics(analysis)[:MOST_DIAGNOSTICS],
        has_sql,
    )


def diagnostics(analysis: Analysis, file: str | None = None) -> tuple[Diagnostic, ...]:
    """The issues of an analysis, or of one of its files."""
    texts = analysis.traced.texts
    return tuple(
        Diagnostic(
            issue.code,
            issue.severity,
            issue.message,
            issue.hint,
            issue.file or STDIN,
            issue.statement_index,
            issue.span.start if issue.span else None,
            issue.span.end if issue.span else None,
            texts.line_and_column(issue.file, issue.span.start)[0] if issue.span else None,
        )
        for issue in analysis.traced.result.issues
        if file is None or (issue.file or STDIN) == file
    )


def file_text(analysis: Analysis, name: str) -> FileText | None:
    """One file of an analysis; None where it has no such file."""
    script = next((one for one in analysis.scripts if (one.file or STDIN) == name), None)
    if script is None:
        return None
    texts = analysis.traced.texts
    statements = [one for one in analysis.traced.result.statements if one.file == script.file]
    return FileText(
        name,
        script.sql,
        script.template is not None,
        tuple(
            StatementEntry(
                one.statement_index,
                one.statement_type,
                one.target or result_name(one),
                *one.span,
                texts.line_and_column(one.file, one.span.start)[0],
            )
            for one in statements
        ),
        diagnostics(analysis, name),
        tuple(
            NameInText(ref.table, ref.column or None, ref.start, ref.start + len(ref.column or ref.table))
            for one in statements
            for ref in one.references
            if ref.start >= 0
        ),
    )
