"""What a project's reader hands on: scripts, issues of files that could not be read, and the schema they bring."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lakebed.errors import LineageError, first_line
from lakebed.lineage.analyze import Script
from lakebed.lineage.contract import Issue


class Project(NamedTuple):
    """Scripts as they were read, in the order of their names."""

    scripts: tuple[Script, ...]
    issues: tuple[Issue, ...] = ()
    # tables that the project itself describes: sources, seeds, what dbt found in the warehouse
    schema: Mapping[str, object] | None = None
    # whether the scripts stand in the order in which they run
    ordered: bool = False


def joined_projects(projects: Sequence[Project]) -> Project:
    """Several projects as one; their scripts are put into order together, unless all of them have theirs."""
    tables = [table for project in projects for table in schema_tables(project.schema)]
    return Project(
        tuple(script for project in projects for script in project.scripts),
        tuple(issue for project in projects for issue in project.issues),
        {"tables": tables} if tables else None,
        all(project.ordered for project in projects),
    )


def schema_tables(schema: Mapping[str, object] | None) -> Sequence[object]:
    """The tables of a schema as the contract has them."""
    tables = schema.get("tables") if schema is not None else None
    return tables if isinstance(tables, list | tuple) else ()


def read_sql(path: Path, issues: list[Issue]) -> str | None:
    """The text of a file; one that cannot be read is an issue."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{path} is not text in UTF-8: byte {error.start} cannot be decoded"
        issues.append(Issue("UNREADABLE_FILE", "error", message, "Convert it to UTF-8.", file=str(path)))
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or first_line(error)}"
        issues.append(Issue("UNREADABLE_FILE", "error", message, "Check its rights.", file=str(path)))
    return None


def template_issue(error: LineageError, file: str) -> Issue:
    """A template that cannot be rendered; the other files are analysed."""
    # an issue names its file beside its message
    message = error.message.removeprefix(file).lstrip(",: ")
    return Issue("TEMPLATE_ERROR", "error", message, error.remedy or "Check the template.", file=file)
