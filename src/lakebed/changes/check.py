"""Saved queries against the schema that the next delivery would leave, before it is loaded."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Unpack

from lakebed.changes.findings import SEVERITIES, CheckResult, Finding, FindingKind
from lakebed.changes.impact import ProjectImpact
from lakebed.changes.names import split_name
from lakebed.changes.next_schema import ColumnFate, NextTable, NextTarget, next_target
from lakebed.changes.result import Place
from lakebed.changes.target_views import imported_view, view_fates
from lakebed.errors import ConfigError, SchemaIncompatible
from lakebed.lineage.contract import Issue, StatementLineage
from lakebed.lineage.project import ProjectLineage, read_project, trace_project
from lakebed.lineage.project_files import Project
from lakebed.pipeline.plan import PlanReport, plan
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.tables import parse_target


def check(
    folder: str | os.PathLike[str] | None = None,
    *,
    target: str | os.PathLike[str],
    dbt: str | os.PathLike[str] | None = None,
    against: str | os.PathLike[str] | None = None,
    table: str | None = None,
    dialect: str = "spark",
    variables: Mapping[str, object] | None = None,
    aliases: Mapping[str, str] | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    **settings: Unpack[RunSettings],
) -> CheckResult:
    """Checks every saved query of a folder, or of a dbt project, against a target; loads and changes nothing.

    With `against`, the source of the next deliveries, it is the schema that they would leave: columns missing, renamed,
    of another type, or NULL in all new rows, and tags that vanished. Without, it is the target as it is. `aliases` are
    names that queries have for tables of the target.

    >>> from pathlib import Path
    >>> _ = lakebed.sample("bills", months=1, rows=10, restate=False)
    >>> Path("queries").mkdir()
    >>> _ = Path("queries/total.sql").write_text("SELECT sum(line_item_unblended_costs) FROM costs")
    >>> found = lakebed.check("queries", target="duckdb:costs.duckdb", table="costs", against="bills")
    >>> [(one.kind, one.column, one.place.line) for one in found.findings]
    [('missing', 'line_item_unblended_costs', 1)]
    """
    project = read_project(folder, dbt=dbt, dialect=dialect, variables=variables)
    workspace = open_workspace(workdir, settings)
    address = parse_target(target)
    if table is not None:
        address = address.with_table(table)
    planned, refused = PlanReport(()), None
    if against is not None:
        try:
            planned = plan(
                against,
                target,
                table=table,
                report=report,
                payer=payer,
                period=period,
                since=since,
                until=until,
                workdir=workdir,
                **settings,
            )
        except SchemaIncompatible as error:
            refused = error
    found = next_target(workspace, address, planned.deliveries, refused)
    checker = QueryCheck(found, dialect, dict(aliases or {}))
    traced = checker.trace(project)
    result = checker.result(traced)
    warnings = [*planned.warnings, *_refusals(planned), *_elsewhere(planned, found, traced, dict(aliases or {}))]
    return CheckResult(
        target=str(address),
        against=None if against is None else os.fspath(against),
        checked=result.checked,
        statements=len(traced.result.statements),
        findings=result.findings,
        unknown=result.unknown,
        warnings=tuple(warnings if refused is None else [*warnings, f"it would be refused: {refused.message}"]),
        strict=workspace.settings.strict,
    )


def _refusals(planned: PlanReport) -> Iterator[str]:
    for one in planned.deliveries:
        if one.action == "refuse":
            yield f"{one.delivery.slice} would be refused: {one.decision.reason}"


def _elsewhere(
    planned: PlanReport, target: NextTarget, traced: ProjectLineage, aliases: Mapping[str, str]
) -> Iterator[str]:
    """Deliveries that land in a table which no query reads: most likely the table has another name."""
    called = {split_name(use.name)[-1].lower() for one in traced.result.statements for use in one.tables}
    read = called | {
        split_name(table)[-1].lower() for alias, table in aliases.items() if split_name(alias)[-1].lower() in called
    }
    coming = [table for table in target.tables if table.arrives]
    if coming and planned.deliveries and not any(table.parts[-1].lower() in read for table in coming):
        names = ", ".join(table.name for table in coming)
        yield f"the next deliveries land in {names}, which no query reads: name their table with --table or --alias"


@dataclass(frozen=True)
class _Checked:
    checked: int
    findings: tuple[Finding, ...]
    unknown: tuple[Place, ...]


class QueryCheck:
    """Looks up what each query names."""

    def __init__(self, target: NextTarget, dialect: str, aliases: Mapping[str, str]) -> None:
        self._target = target
        self._dialect = dialect
        # the names that queries have for a table, each with the table
        self._names: dict[str, NextTable] = {table.name: table for table in target.tables}
        self._schema: list[dict[str, object]] = [table.to_schema() for table in target.tables]
        self._views = {view.name.lower(): imported_view(view, target) for view in target.views}
        self._schema += [view.schema for view in self._views.values()]
        # the names that queries have for a view, by the view
        self._view_names = {view.name: {view.name} for view in self._views.values()}
        for alias, name in aliases.items():
            self._add_alias(split_name(alias), self._named(name))

    def _named(self, name: str) -> NextTable:
        found = self._by_last_name(name)
        if found is None:
            known = ", ".join(self._names) or "none"
            raise ConfigError(f"the target has no table {name}", remedy=f"It has {known}.")
        return found

    def _by_last_name(self, name: str) -> NextTable | None:
        last = split_name(name)[-1].lower()
        matching = [table for table in self._target.tables if table.parts[-1].lower() == last]
        return matching[0] if len(matching) == 1 else None

    def _add_alias(self, parts: tuple[str, ...], table: NextTable) -> None:
        self._names[".".join(parts)] = table
        self._schema.append(table.to_schema(parts))

    def trace(self, project: Project) -> ProjectLineage:
        """The lineage of the project; tables that queries call by another schema's name are the target's."""
        traced = self._traced(project)
        others = {
            use.name
            for statement in traced.result.statements
            for use in statement.tables
            if use.resolution_source == "unknown"
        }
        before = len(self._schema)
        for name in sorted(others):
            table = self._by_last_name(name)
            if table is not None:
                self._add_alias(split_name(name), table)
            elif (view := self._views.get(split_name(name)[-1].lower())) is not None:
                self._schema.append(view.named(split_name(name)))
                self._view_names[view.name].add(name)
        return traced if len(self._schema) == before else self._traced(project)

    def _traced(self, project: Project) -> ProjectLineage:
        return trace_project(
            project,
            dialect=self._dialect,
            schema={"tables": self._schema},
            references=True,
        )

    def result(self, traced: ProjectLineage) -> _Checked:
        """What was found, by file and line."""
        questions = ProjectImpact(traced, dialect=self._dialect)
        findings = [*self._missing(traced), *self._unknown_tables(traced)]
        for name, table in self._names.items():
            for fate in table.fates:
                findings += self._named_columns(questions, name, fate)
        for view, fate in view_fates(self._views.values(), self._target):
            for name in self._view_names[view]:
                findings += self._named_columns(questions, name, fate)
        known = {*self._names, *(name for names in self._view_names.values() for name in names)}
        checked = sum(any(use.name in known for use in one.tables) for one in traced.result.statements)
        unique = sorted(dict.fromkeys(findings), key=lambda one: (one.place.file or "", one.place.line, one.reason))
        return _Checked(checked, tuple(unique), questions.unanalysed())

    def _named_columns(self, questions: ProjectImpact, table: str, fate: ColumnFate) -> Iterator[Finding]:
        """A finding for each statement that names a column; a new type is an error only where it does not fit."""
        kind, severity = fate.kind, SEVERITIES[fate.kind]
        told: set[int | None] = set()
        if kind == "retyped" and fate.to is not None:
            severity = "note"
            for broken in questions.of(retype={_quoted(table, fate.column): fate.to}).breaks:
                told.add(broken.place.statement_index)
                reason = f"{fate.reason}: {broken.reason}"
                yield Finding(
                    kind, "error", table, fate.column, fate.original, broken.roles, reason, fate.remedy, broken.place
                )
        for roles, place in questions.naming(table, fate.column):
            if place.statement_index not in told:
                yield Finding(kind, severity, table, fate.column, fate.original, roles, fate.reason, fate.remedy, place)

    def _missing(self, traced: ProjectLineage) -> Iterator[Finding]:
        for issue, statement in _issues(traced, "UNKNOWN_COLUMN"):
            name = _text_of(traced, issue).strip("\"`[]'")
            read = [self._names[use.name] for use in statement.tables if use.name in self._names]
            kind: FindingKind = "missing"
            reason, remedy, original, table = issue.message, issue.hint, None, None
            for one in read:
                column = one.find(name)
                if column is not None:
                    kind, table, original = "renamed", one.name, column.original
                    reason = f"{issue.message}; the table calls {column.original or column.name} {column.name}"
                    remedy = f"Write {column.name}."
                    break
                near = one.nearest(name)
                if near and table is None:
                    table, remedy = one.name, f"Did you mean {' or '.join(near)}?"
            yield Finding(
                kind, SEVERITIES[kind], table, name, original, (), reason, remedy, _place(traced, issue, statement)
            )

    def _unknown_tables(self, traced: ProjectLineage) -> Iterator[Finding]:
        for issue, statement in _issues(traced, "UNKNOWN_TABLE"):
            name = _text_of(traced, issue)
            reason = f"{name} is no table of the target, and was not checked"
            remedy = "Give --alias NAME=TABLE where it is another name of one."
            place = _place(traced, issue, statement)
            yield Finding("table", SEVERITIES["table"], name, None, None, (), reason, remedy, place)


def _issues(traced: ProjectLineage, code: str) -> Iterator[tuple[Issue, StatementLineage]]:
    statements = {statement.statement_index: statement for statement in traced.result.statements}
    for issue in traced.result.issues:
        if issue.code == code and issue.statement_index in statements:
            yield issue, statements[issue.statement_index]


def _text_of(traced: ProjectLineage, issue: Issue) -> str:
    return traced.texts.text(issue.file, issue.span) if issue.span is not None else ""


def _quoted(table: str, column: str) -> str:
    return ".".join(f'"{part}"' for part in (*table.split("."), column))


def _place(traced: ProjectLineage, issue: Issue, statement: StatementLineage) -> Place:
    line, _ = traced.texts.line_and_column(issue.file, issue.span.start if issue.span is not None else 0)
    return Place(issue.statement_index, statement.statement_type, issue.file, line)
