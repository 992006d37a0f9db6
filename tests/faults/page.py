"""`docs/reliability.md`: the table of points and outcomes that the whole matrix writes, and that it is held against."""

import fcntl
import os
import re
from collections.abc import Iterator, Mapping

from tests.faults.places import PLACES
from tests.support import ROOT

PAGE = ROOT / "docs" / "reliability.md"
# Set by `make faults`: what was seen is written into the page instead of being compared with it.
WRITES = "LAKEBED_WRITE_RELIABILITY"
NOTHING = "·"


def read_tables() -> dict[str, dict[str, dict[str, str]]]:
    """Command, target, step: what was seen there."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for command, body in _sections():
        columns = tables.setdefault(command, {})
        for table in body.split("\n\n"):
            head, *lines = [_cells(line) for line in table.splitlines() if line.startswith("|")] or [[]]
            for column, target in enumerate(head[1:], start=1):
                columns[target] = {line[0].strip("`"): line[column] for line in lines[1:] if line[column] != NOTHING}
    return tables


def _sections() -> Iterator[tuple[str, str]]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    yield from re.findall(r"<!-- seen: ([\w ]+) -->\n(.*?)<!-- end -->", text, flags=re.DOTALL)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def keep_or_compare(command: str, target: str, seen: Mapping[str, str]) -> None:
    """Writes one cell into its table if asked to; otherwise it must be what the table says."""
    if os.environ.get(WRITES):
        with PAGE.open("r+", encoding="utf-8") as page:
            fcntl.flock(page, fcntl.LOCK_EX)  # cells may run at once
            _write(command, target, seen)
        return
    known = read_tables().get(command, {}).get(target, {})
    assert known == dict(seen), "run `make faults`, and look at what changed in docs/reliability.md"


def _write(command: str, target: str, seen: Mapping[str, str]) -> None:
    columns = {**read_tables().get(command, {}), target: seen}
    text = PAGE.read_text(encoding="utf-8")
    section = re.compile(rf"(<!-- seen: {command} -->\n).*?(<!-- end -->)", re.DOTALL)
    assert section.search(text), f"docs/reliability.md has no place for {command}"
    PAGE.write_text(section.sub(lambda found: found[1] + _render(columns) + found[2], text), encoding="utf-8")


def _render(columns: Mapping[str, Mapping[str, str]]) -> str:
    """A table for each kind of target: their steps are not the same, and names that two share mean different things."""
    kinds: dict[str, list[str]] = {}
    for target in PLACES:
        if target in columns:
            kinds.setdefault(target.split()[0], []).append(target)
    return "\n".join(_table({target: columns[target] for target in targets}) for targets in kinds.values())


def _table(columns: Mapping[str, Mapping[str, str]]) -> str:
    steps: list[str] = []
    for seen in columns.values():
        place = 0
        for step in seen:
            if step in steps:
                place = steps.index(step) + 1
            else:
                steps.insert(place, step)
                place += 1
    lines = [f"| killed at | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for step in steps:
        lines.append(f"| `{step}` | {' | '.join(seen.get(step, NOTHING) for seen in columns.values())} |")
    return "\n".join(lines) + "\n"
