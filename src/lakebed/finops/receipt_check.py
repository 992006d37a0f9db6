"""`lakebed receipt --verify`: recomputes a receipt from the source files with DuckDB.

Neither the table nor the code that loads is used: what the receipt says, the files that it names, and DuckDB. A receipt
is a file that somebody sent: its names are quoted, its types are taken from a list, its query is checked as when it was
made, and DuckDB runs it after its doors are closed.
"""

import csv
import gzip
import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from lakebed.errors import LakebedError, LineageError, NotFound, SourceError, first_line
from lakebed.finops.determined import parse_determined
from lakebed.schema.duckdb import quote_identifier, quote_literal
from lakebed.storage import Storage, is_local, local_path

FORMAT = 1
MOST_ROWS = 10_000
Row = tuple[str | None, ...]
_TYPE = re.compile(
    r"VARCHAR|BIGINT|INTEGER|SMALLINT|TINYINT|DOUBLE|FLOAT|BOOLEAN|DATE|TIMESTAMP(_MS|_S|_NS)?|TIMESTAMP WITH TIME ZONE"
    r"|DECIMAL\(\d{1,2},\s*\d{1,2}\)|MAP\((VARCHAR),\s*(VARCHAR|DOUBLE)\)"
)


@dataclass(frozen=True)
class Verification:
    """Whether the source files give what a receipt says, and what they give."""

    receipt: str
    equal: bool
    sql: str
    expected: tuple[Row, ...]
    found: tuple[Row, ...]
    files: int
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        return {
            "receipt": self.receipt,
            "equal": self.equal,
            "sql": self.sql,
            "expected": [list(row) for row in self.expected],
            "found": [list(row) for row in self.found],
            "files": self.files,
            "problems": list(self.problems),
        }


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> tuple[tuple[tuple[str, str], ...], tuple[Row, ...]]:
    """The columns and rows of a query, every value as text with all its digits."""
    try:
        asked = connection.execute(sql)
        columns = tuple((str(one[0]), str(one[1])) for one in asked.description or ())
        rows = asked.fetchmany(MOST_ROWS + 1)
    except duckdb.Error as error:
        raise LineageError(f"DuckDB does not run the query: {first_line(error)}") from error
    if len(rows) > MOST_ROWS:
        raise LineageError(
            f"the result has more than {MOST_ROWS:,} rows", remedy="A receipt is for totals: group, or filter."
        )
    return columns, tuple(tuple(_text(value) for value in row) for row in rows)


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime | date):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


def verify_receipt(path: str | os.PathLike[str], *, storage: Storage | None = None) -> Verification:
    """Recomputes a receipt from the source files that it names, whose checksums are checked first, with DuckDB alone.

    >>> lakebed.verify_receipt("receipt.json").equal  # doctest: +SKIP
    True
    """
    facts = read_receipt(path)
    sql, table = str(facts["sql"]), str(facts["tableName"])
    parse_determined(sql, table)
    expected = tuple(tuple(row) for row in facts["result"]["rows"])
    problems = [] if facts["sha256"] == fingerprint(facts) else ["the receipt was changed after it was made"]
    with tempfile.TemporaryDirectory(prefix="lakebed-receipt-") as folder:
        wrong, places = _fetch(facts, Path(folder), storage or Storage())
        files = sum(len(some) for some in places)
        if wrong:
            return Verification(os.fspath(path), False, sql, expected, (), files, (*problems, *wrong))
        with duckdb.connect() as connection:
            _fill(connection, facts, places)
            # What was read is in the table: from here on the query can reach nothing else.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            columns, found = answer(connection, sql)
    if [name for name, _ in columns] != [one["name"] for one in facts["result"]["columns"]]:
        problems.append("the columns of the result have other names")
    if sorted(map(_sortable, found)) != sorted(map(_sortable, expected)):
        problems.append("the source files give another result")
    return Verification(os.fspath(path), not problems, sql, expected, found, files, tuple(problems))


def read_receipt(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The receipt in a file. Raises SourceError where it is none."""
    try:
        facts: Mapping[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if facts["receipt"] != FORMAT:
            raise SourceError(f"{path} is a receipt of format {facts['receipt']}", remedy="Upgrade lakebed.")
        for delivery in facts["deliveries"]:
            _require_delivery(delivery)
        result = facts["result"]
        texts = [facts["sql"], facts["tableName"], facts["sha256"], *(one["name"] for one in result["columns"])]
        values = [value for row in result["rows"] for value in row if value is not None]
        if not all(isinstance(one, str) for one in (*texts, *values)):
            raise ValueError("a value of it is no text")
    except FileNotFoundError:
        raise NotFound(f"there is no receipt {path}", uri=os.fspath(path)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceError(
            f"{path} is not a receipt: {type(error).__name__} {error}", remedy="Give the JSON file of a receipt."
        ) from error
    return facts


def _require_delivery(delivery: Mapping[str, Any]) -> None:
    for column in delivery["columns"]:
        if not _TYPE.fullmatch(column["type"]):
            raise ValueError(f"the type {column['type']!r:.60}")
    for file in delivery["files"]:
        if file["content"] not in ("csv", "parquet") or file["compression"] not in ("none", "gzip", "zip"):
            raise ValueError(f"the format of {file['uri']!r:.200}")
    named = [*((one["original"], one["name"]) for one in delivery["columns"]), *delivery["constants"].items()]
    files = [(one["uri"], one["sha256"]) for one in delivery["files"]]
    if not all(isinstance(text, str) for pair in (*named, *files, (delivery["delivery"],)) for text in pair):
        raise ValueError("a name of it is no text")


def fingerprint(facts: Mapping[str, Any]) -> str:
    """The checksum of all that a receipt says."""
    rest = {name: value for name, value in facts.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as opened:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _fetch(facts: Mapping[str, Any], folder: Path, storage: Storage) -> tuple[list[str], list[list[Path]]]:
    """Where the files of each delivery lie on this machine, and what is wrong with them."""
    wrong: list[str] = []
    places: list[list[Path]] = []
    for number, delivery in enumerate(facts["deliveries"]):
        here: list[Path] = []
        for place, file in enumerate(delivery["files"]):
            try:
                if is_local(file["uri"]):
                    path = local_path(file["uri"])
                    found = checksum(path)
                else:
                    path = folder / f"{number}-{place}"
                    found = storage.copy(file["uri"], str(path)).sha256
            except (LakebedError, OSError) as error:
                wrong.append(f"{file['uri']} cannot be read: {error}")
                continue
            if found != file["sha256"]:
                wrong.append(f"{file['uri']} is not the file that was loaded: its SHA-256 is {found}")
                continue
            here += _unpacked(path, file, folder / f"{number}-{place}.unpacked")
        places.append(here)
    return wrong, places


def _unpacked(path: Path, file: Mapping[str, Any], folder: Path) -> Iterator[Path]:
    if file["compression"] != "zip":
        yield path
        return
    folder.mkdir()
    with zipfile.ZipFile(path) as archive:
        for place, member in enumerate(one for one in archive.infolist() if not one.is_dir()):
            out = folder / f"{place}.csv"
            with archive.open(member) as packed, out.open("wb") as whole:
                shutil.copyfileobj(packed, whole)
            yield out


def _fill(connection: duckdb.DuckDBPyConnection, facts: Mapping[str, Any], places: Sequence[Sequence[Path]]) -> None:
    """A table of the name that the query knows, with the columns that it uses, read from the source files."""
    connection.execute("SET TimeZone = 'UTC'")
    names = {one["name"]: one["type"] for each in facts["deliveries"] for one in each["columns"]}
    for each in facts["deliveries"]:
        names |= dict.fromkeys(each["constants"], "VARCHAR")
    table = quote_identifier(str(facts["tableName"]))
    defined = ", ".join(f"{quote_identifier(name)} {type_}" for name, type_ in names.items())
    connection.execute(f"CREATE TABLE {table} ({defined})")
    for delivery, files in zip(facts["deliveries"], places, strict=True):
        for file in files:
            try:
                connection.execute(f"INSERT INTO {table} BY NAME {_reading(delivery, file)}")
            except (duckdb.Error, OSError, UnicodeDecodeError, csv.Error) as error:
                raise SourceError(
                    f"{file}, of delivery {delivery['delivery']}, cannot be read: {first_line(error)}"
                ) from error


def _reading(delivery: Mapping[str, Any], file: Path) -> str:
    """The rows of one file as a query: columns are found by their originals, letter by letter."""
    place = quote_literal(_literal(str(file)))
    if delivery["files"][0]["content"] == "parquet":
        source = f"read_parquet({place}, hive_partitioning = false)"
        with duckdb.connect() as apart:
            header = [str(row[0]) for row in apart.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        names = {name: quote_identifier(name) for name in header}
    else:
        packed = delivery["files"][0]["compression"] == "gzip"
        header = _header(file, packed=packed)
        # DuckDB takes two names that differ in case for one: columns are told apart by their places.
        names = {name: f"c{number}" for number, name in enumerate(header)}
        typed = ", ".join(f"c{number}: 'VARCHAR'" for number in range(len(header)))
        source = (
            f"read_csv({place}, header = true, auto_detect = false, columns = {{{typed}}}, delim = ',', quote = '\"', "
            f"escape = '\"', nullstr = '', compression = '{'gzip' if packed else 'none'}', "
            "hive_partitioning = false, max_line_size = 16777216)"
        )
    is_csv = delivery["files"][0]["content"] == "csv"
    chosen = []
    for column in delivery["columns"]:
        value = names.get(column["original"], "NULL")
        if column["type"].startswith("MAP") and is_csv:
            value = f"CAST({value} AS JSON)"
        chosen.append(f"CAST({value} AS {column['type']}) AS {quote_identifier(column['name'])}")
    for name, text in delivery["constants"].items():
        chosen.append(f"{quote_literal(str(text))} AS {quote_identifier(name)}")
    return f"SELECT {', '.join(chosen)} FROM {source}"


def _header(file: Path, *, packed: bool) -> list[str]:
    with (
        gzip.open(file, "rt", encoding="utf-8-sig", newline="")
        if packed
        else file.open(encoding="utf-8-sig", newline="") as text
    ):
        return next(csv.reader(text), [])


def _literal(path: str) -> str:
    """A path that DuckDB takes letter by letter, though it reads names as patterns."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def _sortable(row: Sequence[str | None]) -> tuple[tuple[bool, str], ...]:
    return tuple((value is None, value or "") for value in row)
