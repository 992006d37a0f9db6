"""What differs between dialects beyond syntax: how names compare, where aliases are seen, how outputs are named.

sqlglot knows each dialect's syntax. The facts here decide about meaning.
"""

from dataclasses import dataclass, replace
from typing import Literal

# How two spellings of a name compare: without regard to case, quoted or not; folded unless quoted; or exactly.
Case = Literal["insensitive", "lower", "upper", "exact"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """The facts of one dialect that resolution depends on."""

    name: str
    parser: str
    tables: Case = "insensitive"
    columns: Case = "insensitive"
    # `SELECT a AS b, b + 1`: later items of the list see earlier aliases
    lateral_alias: bool = False
    # `SELECT a AS b ... WHERE b = 1`
    alias_in_where: bool = False
    # `WITH r AS (... UNION ALL ... r ...)` recurses without the word RECURSIVE
    recursive_without_keyword: bool = False
    # `SELECT *` over USING puts the merged columns first; the others leave them where the left table has them
    using_first: bool = True
    # those come in the order of the left table, as the standard says, and not in that of the USING list
    using_as_left: bool = False
    # columns of the same name in a derived table become a, a_1; elsewhere they are ambiguous
    numbers_duplicates: bool = False
    # UNPIVOT lists the name column before the value columns
    unpivot_name_first: bool = True
    # the names that columns of VALUES have without an alias: prefix and first number
    values_names: tuple[str, int] = ("col", 1)
    # the name of `SELECT a + 1`; see output_names.py
    unnamed: Literal["text", "postgres", "ordinal", "none"] = "text"
    ordinal_prefix: str = "_col"
    # names that the engine knows in every table
    pseudo_columns: frozenset[str] = frozenset()
    # `a.b` may be a field of a struct column `a`
    structs: bool = True
    # a derived table sees what stands before it in FROM, without the word LATERAL
    sees_neighbours: bool = False


_SPARK = Dialect("spark", "spark", lateral_alias=True, pseudo_columns=frozenset({"_metadata", "input_file_name"}))
_POSTGRES = Dialect(
    "postgres",
    "postgres",
    tables="lower",
    columns="lower",
    values_names=("column", 1),
    unnamed="postgres",
    pseudo_columns=frozenset({"ctid", "xmin", "xmax", "tableoid", "current_user", "session_user"}),
    structs=False,
)
_TRINO = Dialect("trino", "trino", values_names=("_col", 0), unnamed="ordinal", ordinal_prefix="_col")
_MYSQL = Dialect("mysql", "mysql", tables="exact", using_as_left=True, values_names=("column_", 0), structs=False)
_TSQL = Dialect(
    "tsql",
    "tsql",
    recursive_without_keyword=True,
    unpivot_name_first=False,
    unnamed="none",
    structs=False,
    pseudo_columns=frozenset({"$action", "$identity", "$rowguid"}),
)

DIALECTS = {
    dialect.name: dialect
    for dialect in (
        _SPARK,
        replace(_SPARK, name="databricks", parser="databricks"),
        replace(_SPARK, name="spark2", parser="spark2", lateral_alias=False),
        Dialect(
            "hive",
            "hive",
            unnamed="ordinal",
            ordinal_prefix="_c",
            pseudo_columns=frozenset({"input__file__name", "block__offset__inside__file"}),
        ),
        Dialect(
            "duckdb",
            "duckdb",
            lateral_alias=True,
            alias_in_where=True,
            using_first=False,
            numbers_duplicates=True,
            values_names=("col", 0),
            sees_neighbours=True,
            pseudo_columns=frozenset({"rowid", "filename", "file_row_number"}),
        ),
        _POSTGRES,
        replace(
            _POSTGRES,
            name="redshift",
            parser="redshift",
            tables="insensitive",
            columns="insensitive",
            lateral_alias=True,
            structs=True,
        ),
        Dialect(
            "bigquery",
            "bigquery",
            tables="exact",
            unpivot_name_first=False,
            unnamed="ordinal",
            ordinal_prefix="f",
            pseudo_columns=frozenset(
                {"_partitiontime", "_partitiondate", "_table_suffix", "_file_name", "_change_type", "_change_timestamp"}
            ),
        ),
        Dialect(
            "snowflake",
            "snowflake",
            tables="upper",
            columns="upper",
            lateral_alias=True,
            alias_in_where=True,
            recursive_without_keyword=True,
            values_names=("COLUMN", 1),
            pseudo_columns=frozenset(
                {
                    "metadata$filename",
                    "metadata$file_row_number",
                    "metadata$action",
                    "metadata$isupdate",
                    "metadata$row_id",
                    "level",
                }
            ),
        ),
        _TRINO,
        replace(_TRINO, name="athena", parser="athena", pseudo_columns=frozenset({"$path"})),
        replace(_TRINO, name="presto", parser="presto"),
        _MYSQL,
        replace(_MYSQL, name="mariadb", parser="mysql"),
        _TSQL,
        replace(_TSQL, name="fabric", parser="fabric"),
        Dialect(
            "sqlite",
            "sqlite",
            alias_in_where=True,
            using_first=False,
            values_names=("column", 1),
            pseudo_columns=frozenset({"rowid", "oid", "_rowid_"}),
            structs=False,
        ),
        Dialect(
            "oracle",
            "oracle",
            tables="upper",
            columns="upper",
            recursive_without_keyword=True,
            structs=False,
            pseudo_columns=frozenset(
                {"rownum", "rowid", "level", "sysdate", "systimestamp", "user", "uid", "connect_by_isleaf"}
            ),
        ),
        Dialect(
            "clickhouse",
            "clickhouse",
            tables="exact",
            columns="exact",
            lateral_alias=True,
            alias_in_where=True,
            using_first=False,
            values_names=("c", 1),
            pseudo_columns=frozenset({"_part", "_path", "_file", "_table", "_partition_id"}),
        ),
        Dialect("ansi", "", using_as_left=True, structs=True),
    )
}

_ALIASES = {
    "postgresql": "postgres",
    "sqlserver": "tsql",
    "mssql": "tsql",
    "generic": "ansi",
    "": "ansi",
    "tidb": "mysql",
}


def find_dialect(name: str) -> Dialect | None:
    """The dialect of this name or synonym."""
    key = name.strip().lower()
    return DIALECTS.get(_ALIASES.get(key, key))
