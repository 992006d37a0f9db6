"""TPC-DS and TPC-H as DuckDB's extensions carry them: 99 and 22 texts, and the schema that they are written for."""

from functools import cache
from importlib.resources import files

import duckdb


@cache
def workload(name: str) -> tuple[tuple[str, ...], dict[str, object]]:
    """The queries of `tpcds` or `tpch`, and their tables as an imported schema; nothing is downloaded."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "false"})
    folder = files(f"duckdb_extension_{name}")
    extension = next(path for path in _files(folder) if path.endswith(".duckdb_extension"))
    connection.load_extension(extension)
    generate = "dsdgen" if name == "tpcds" else "dbgen"
    connection.execute(f"CALL {generate}(sf=0)")
    queries = connection.execute(f"SELECT query FROM {name}_queries() ORDER BY query_nr").fetchall()
    tables: dict[str, list[dict[str, str]]] = {}
    for table, column, kind in connection.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal "
        "ORDER BY table_name, column_index"
    ).fetchall():
        tables.setdefault(table, []).append({"name": column, "dataType": kind})
    connection.close()
    schema: dict[str, object] = {"tables": [{"name": table, "columns": columns} for table, columns in tables.items()]}
    return tuple(query for (query,) in queries), schema


def _files(folder: object) -> list[str]:
    found: list[str] = []
    for entry in folder.iterdir():  # type: ignore[attr-defined]
        found += _files(entry) if entry.is_dir() else [str(entry)]
    return found
