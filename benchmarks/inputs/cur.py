"""Makes the input of the load benchmarks: CUR-like CSV files, wide, sparse and gzipped, the same ones each time."""

import os
from pathlib import Path

import duckdb

DECIMALS = 24
TIMESTAMPS = 4
IDENTIFIERS = 6
FACTS = 96


def columns(count: int) -> list[tuple[str, str]]:
    """Header and kind (`text`, `decimal`, `timestamp`) of each of `count` columns, in the order of the files."""
    named = [(f"identity/Id{i}", "text") for i in range(IDENTIFIERS)]
    named += [(f"lineItem/Date{i}", "timestamp") for i in range(TIMESTAMPS)]
    named += [(f"lineItem/Cost{i}", "decimal") for i in range(DECIMALS)]
    named += [(f"product/Attribute{i}", "text") for i in range(FACTS)]
    named += [(f"resourceTags/user:Tag{i}", "text") for i in range(count - len(named))]
    return named


def _expression(position: int, header: str, kind: str) -> str:
    seed = f"hash(r * 1000 + {position})"
    if kind == "timestamp":
        return f"strftime(TIMESTAMP '2026-10-01' + to_hours(({seed} % 744)::INT), '%Y-%m-%dT%H:%M:%SZ')"
    if kind == "decimal":
        exact = f"(({seed} % 90000000000) / 10000000000.0)::DECIMAL(18, 10)::VARCHAR"
        sparse = "" if position % 3 else f"WHEN {seed} % 5 < 3 THEN NULL "
        return f"CASE {sparse}WHEN {seed} % 97 = 0 THEN ({seed} % 90 / 10 + 1)::VARCHAR || 'E-7' ELSE {exact} END"
    if header.startswith("identity/"):
        return f"md5(({seed})::VARCHAR)"
    if header.startswith("product/"):
        few = f"'{header[8:12].lower()} value ' || ({seed} % {3 + position * 7 % 400})"
        return few if position % 4 == 0 else f"CASE WHEN {seed} % 10 < 3 THEN {few} END"
    return f"CASE WHEN {seed} % 100 < {2 + position % 12} THEN 'team-' || ({seed} % {2 + position % 60}) END"


def make(folder: Path, *, rows: int, count: int, files: int, gzip: bool = True) -> list[Path]:
    """`files` files with `rows` rows in all; those already there are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    named = columns(count)
    selected = ", ".join(f'{_expression(i, header, kind)} AS "{header}"' for i, (header, kind) in enumerate(named))
    made = []
    for number in range(files):
        first, last = rows * number // files, rows * (number + 1) // files
        path = folder / f"report-{number + 1:05d}.csv{'.gz' if gzip else ''}"
        made.append(path)
        if path.exists():
            continue
        partial = path.with_suffix(".partial")
        with duckdb.connect() as connection:
            compression = "gzip" if gzip else "none"
            connection.execute(
                f"COPY (SELECT {selected} FROM range({first}, {last}) AS t(r)) TO '{partial}' "
                f"(FORMAT csv, HEADER true, COMPRESSION {compression})"
            )
        os.replace(partial, path)
    return made
