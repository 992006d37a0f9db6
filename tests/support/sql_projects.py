"""Projects of SQL of any size, always the same: layers of views that each read a few of the layer before."""

from pathlib import Path
from random import Random

COLUMNS = 4


def make_project(folder: Path, tables: int, *, per_file: int = 20) -> Path:
    """As many tables in files of about `per_file` statements, in folders; the first tenth are declared sources."""
    chosen = Random(tables)
    sources = max(2, tables // 10)
    statements = [_source(number) for number in range(sources)]
    for number in range(sources, tables):
        first = max(0, number - max(8, tables // 8))
        read = sorted(chosen.sample(range(first, number), min(number - first, chosen.randint(1, 3))))
        statements.append(_view(number, read))
    for start in range(0, tables, per_file):
        place = folder / f"layer_{start * 6 // tables}"
        place.mkdir(parents=True, exist_ok=True)
        text = "\n".join(statements[start : start + per_file])
        (place / f"models_{start:05}.sql").write_text(text + "\n", encoding="utf-8")
    return folder


def _source(number: int) -> str:
    columns = ", ".join(f"c{place} DECIMAL(18, 4)" for place in range(COLUMNS))
    return f"CREATE TABLE t{number:05} ({columns});"


def _view(number: int, read: list[int]) -> str:
    names = [f"t{one:05}" for one in read]
    outputs = [f"{names[place % len(names)]}.c{place} + 1 AS c{place}" for place in range(COLUMNS - 1)]
    outputs.append(f"CASE WHEN {names[0]}.c0 > 0 THEN {names[-1]}.c1 END AS c{COLUMNS - 1}")
    joins = "".join(f" JOIN {name} ON {name}.c0 = {names[0]}.c0" for name in names[1:])
    return f"CREATE VIEW t{number:05} AS SELECT {', '.join(outputs)} FROM {names[0]}{joins};"
