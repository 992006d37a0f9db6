"""The SQL in sqlglot's own tests, of every dialect: thousands of statements that somebody once found hard to parse.

They come with the source distribution, which is fetched from the package index and kept nowhere.
"""

import ast
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from lakebed.lineage.dialects import find_dialect

_STATEMENT = re.compile(
    r"\s*\(?\s*(SELECT|WITH|INSERT|UPDATE|DELETE|MERGE|CREATE|ALTER|DROP|FROM|VALUES|PIVOT|UNPIVOT|REPLACE|COPY|USE|SET|DECLARE"
    r"|TRUNCATE|CALL|EXEC|EXECUTE|BEGIN|CACHE|EXPORT|UNLOAD|LOAD|COMMENT|GRANT|ANALYZE|DESCRIBE|SHOW|EXPLAIN|RENAME)\b",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """One text of the corpus and the dialect that it is written in."""

    dialect: str
    sql: str


def fetch(folder: Path) -> Path:
    """Downloads and unpacks the source distribution of the sqlglot that is installed; raises where it cannot be had."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    done = subprocess.run(
        [*command, "--dest", str(folder), f"sqlglot=={version('sqlglot')}"], capture_output=True, text=True, check=False
    )
    archives = list(folder.glob("sqlglot-*.tar.gz"))
    if done.returncode or not archives:
        raise OSError((done.stderr.strip().splitlines() or ["pip said nothing"])[-1])
    with tarfile.open(archives[0]) as archive:
        archive.extractall(folder, filter="data")
    return archives[0].with_name(archives[0].name.removesuffix(".tar.gz"))


def statements(source: Path) -> Iterator[Statement]:
    """The statements of the tests of each dialect, and of the fixtures."""
    seen: set[Statement] = set()
    for found in _all(source / "tests"):
        if found not in seen and find_dialect(found.dialect) is not None:
            seen.add(found)
            yield found


def _all(tests: Path) -> Iterator[Statement]:
    for path in sorted((tests / "dialects").glob("test_*.py")):
        own = path.stem.removeprefix("test_")
        yield from _in_python(path, "ansi" if own in ("dialect", "pipe_syntax") else own)
    for name in ("test_lineage.py", "test_optimizer.py", "test_parser.py", "test_transpile.py", "test_executor.py"):
        yield from _in_python(tests / name, "ansi")
    for path in sorted((tests / "fixtures").rglob("*.sql")):
        yield from _in_fixture(path)


def _in_python(path: Path, dialect: str) -> Iterator[Statement]:
    """Texts that look like SQL; in `{"duckdb": "SELECT ..."}` the key is the dialect."""
    named: dict[ast.AST, str] = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    named[value] = key.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _STATEMENT.match(node.value):
            yield Statement(named.get(node, dialect) or "ansi", node.value)


def _in_fixture(path: Path) -> Iterator[Statement]:
    text = path.read_text(encoding="utf-8")
    if path.name == "identity.sql":
        yield from (Statement("ansi", line) for line in text.splitlines() if line.strip())
        return
    dialect = "ansi"
    for block in re.split(r";\s*\n", text):
        given = re.search(r"^#\s*dialect:\s*(\w+)", block, re.MULTILINE)
        dialect = given.group(1) if given else "ansi"
        sql = "\n".join(line for line in block.splitlines() if not line.startswith(("#", "--")))
        if sql.strip():
            yield Statement(dialect, sql)
