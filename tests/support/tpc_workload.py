"""TPC-DS and TPC-H as DuckDB's extensions carry them: 99 and 22 texts, and the schema that they are written for."""

from functools import cache
from importlib.resources import files

import duckdb


def connection(name: str) -> duckdb.DuckDBPyConnection:
    """A database with the empty tables of `tpcds` or `tpch`; the extension is a wheel, nothing is downloaded."""
    opened = duckdb.connect()
    extension = next(path for path in _files(files(f"duckdb_extension_{name}")) if path.endswith(".duckdb_extension"))
    opened.load_extension(extension)
    opened.execute(f"CALL {'dsdgen' if name == 'tpcds' else 'dbgen'}(sf=0)")
    return opened


@cache
def workload(name: str) -> tuple[tuple[str, ...], dict[str, object]]:
    """The queries of `tpcds` or `tpch`, and their tables as an imported schema."""
    opened = connection(name)
    queries = opened.execute(f"SELECT query FROM {name}_queries() ORDER BY query_nr").fetchall()
    tables: dict[str, list[dict[str, str]]] = {}
    for table, column, kind in opened.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
        "ORDER BY table_name, column_index"
    ).fetchall():
        tables.setdefault(table, []).append({"name": column, "dataType": kind})
    opened.close()
    schema: dict[str, object] = {"tables": [{"name": table, "columns": columns} for table, columns in tables.items()]}
    return tuple(query for (query,) in queries), schema


def _files(folder: object) -> list[str]:
    found: list[str] = []
    for entry in folder.iterdir():  # type: ignore[attr-defined]
        found += _files(entry) if entry.is_dir() else [str(entry)]
    return found
