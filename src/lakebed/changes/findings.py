"""The values that a check of saved queries returns."""

from dataclasses import dataclass
from typing import Literal

from lakebed.changes.result import Place

FindingKind = Literal["missing", "renamed", "retyped", "null", "tag", "redeclared", "table"]
FindingSeverity = Literal["error", "warning", "note"]

# A query that would fail or mean something else is an error. One whose column holds nothing any more runs, and whether
# that is right only its owner knows. Whatever changes no result is a note.
SEVERITIES: dict[FindingKind, FindingSeverity] = {
    "missing": "error",
    "renamed": "error",
    "retyped": "error",
    "null": "warning",
    "tag": "warning",
    "redeclared": "note",
    "table": "note",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a saved query would meet in the schema that it was checked against, and what to do about it."""

    kind: FindingKind
    severity: FindingSeverity
    table: str | None
    column: str | None
    # the column's name in the source
    original: str | None
    roles: tuple[str, ...]
    reason: str
    remedy: str
    place: Place

    def to_dict(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "severity": self.severity,
            "table": self.table,
            "column": self.column,
            "original": self.original,
            "roles": list(self.roles),
            "reason": self.reason,
            "remedy": self.remedy,
            **self.place.to_dict(),
        }


@dataclass(frozen=True)
class CheckResult:
    """What saved queries meet in a target, or in what the next delivery makes of it."""

    target: str
    against: str | None
    # the statements that read a table of the target, and all that there are
    checked: int
    statements: int
    findings: tuple[Finding, ...]
    # statements that could not be analysed: nothing is known of them
    unknown: tuple[Place, ...]
    # what the plan had to say
    warnings: tuple[str, ...] = ()
    # whether warnings count as errors
    strict: bool = False

    def of(self, severity: FindingSeverity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(one for one in self.findings if one.severity == severity)

    @property
    def breaking(self) -> bool:
        return bool(self.of("error") or (self.strict and self.of("warning")))

    def to_dict(self) -> dict[str, object]:
        return {
            "target": self.target,
            "against": self.against,
            "breaking": self.breaking,
            "checked": self.checked,
            "statements": self.statements,
            "findings": [one.to_dict() for one in self.findings],
            "unknown": [one.to_dict() for one in self.unknown],
            "warnings": list(self.warnings),
        }
