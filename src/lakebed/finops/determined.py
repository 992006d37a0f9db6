"""Whether a query has one answer: the same rows give the same result, in whatever order and whenever they are read."""

from collections.abc import Iterator
from functools import cache

import duckdb
import sqlglot
from sqlglot import exp

from lakebed.errors import LineageError

# Their answer depends on the order of rows, or on floating point that is added up in some order.
_BY_ORDER = frozenset(
    [
        "first",
        "last",
        "any_value",
        "arbitrary",
        "arg_min",
        "arg_max",
        "argmin",
        "argmax",
        "min_by",
        "max_by",
        "list",
        "array_agg",
        "string_agg",
        "group_concat",
        "listagg",
        "mode",
        "product",
        "fsum",
        "kahan_sum",
        "sumkahan",
        "favg",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "variance",
        "var_pop",
        "var_samp",
        "corr",
        "covar_pop",
        "covar_samp",
        "kurtosis",
        "kurtosis_pop",
        "skewness",
        "entropy",
        "sem",
        "histogram",
        "bitstring_agg",
        "json_group_array",
        "json_group_object",
        "map_from_entries",
    ]
)
_BY_ROW_ORDER = frozenset(["row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"])
_TABLES_ONLY = "A receipt is made of the table alone: name no other table, file or function in FROM."


class Undetermined(LineageError):
    """A query that may answer differently on the same rows."""


def parse_determined(sql: str, table: str) -> exp.Query:
    """The query, whose one table this is. Raises LineageError, naming what it is not or what is not determined."""
    try:
        parsed = sqlglot.parse(sql, read="duckdb")
    except sqlglot.errors.SqlglotError as error:
        raise LineageError(f"the query cannot be read: {str(error).splitlines()[0]}") from error
    queries = [one for one in parsed if one is not None]
    if len(queries) != 1 or not isinstance(queries[0], exp.Query):
        raise LineageError("a receipt is made for one SELECT", remedy="Give one query, without other statements.")
    query = queries[0]
    for reason in _reasons(query):
        raise Undetermined(
            f"the result of the query is not determined: {reason}",
            remedy="Leave it out, or order by every column of the result before LIMIT.",
        )
    _require_one_table(query, table)
    return query


def _reasons(query: exp.Query) -> Iterator[str]:
    for node in query.walk():
        if isinstance(node, exp.TableSample):
            yield "it takes a sample of the rows"
        elif isinstance(node, exp.Distinct) and node.args.get("on") is not None:
            yield "DISTINCT ON takes one row of several"
        elif isinstance(node, exp.Limit | exp.Fetch | exp.Offset):
            if not _is_ordered(node.parent):
                yield f"{node.key.upper()} without an order of all columns of the result"
        elif isinstance(node, exp.Func):
            yield from _of_function(node)


def _of_function(node: exp.Func) -> Iterator[str]:
    text = node.sql(dialect="duckdb")
    name = text.partition("(")[0].strip().lower() if "(" in text else text.strip().lower()
    if isinstance(node, exp.Cast | exp.Case | exp.And | exp.Or | exp.If | exp.Coalesce | exp.Interval):
        return
    if name in _volatile() or isinstance(node, exp.CurrentTimestamp | exp.CurrentDate | exp.CurrentTime):
        yield f"{name}() is another value each time"
    elif name in _BY_ORDER or name.startswith(("approx", "reservoir", "regr_")):
        yield f"{name}() depends on the order of rows, or estimates"
    elif name in _BY_ROW_ORDER:
        yield f"{name}() depends on the order of rows that are equal"
    elif isinstance(node, exp.Sum | exp.Avg):
        for inside in node.walk():
            is_float = isinstance(inside, exp.Cast) and inside.to.this in (
                exp.DataType.Type.DOUBLE,
                exp.DataType.Type.FLOAT,
            )
            if is_float or isinstance(inside, exp.Div):
                yield f"{name}() adds up floating point, whose last digits depend on the order"


@cache
def _volatile() -> frozenset[str]:
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability IN"
            " ('VOLATILE', 'CONSISTENT_WITHIN_QUERY')"
        ).fetchall()
    written = {"current_timestamp", "current_time", "localtime", "localtimestamp", "rand", "version", "current_user"}
    return frozenset(name for (name,) in found) | written


def _is_ordered(query: object) -> bool:
    """Whether the order of a query tells every two rows of its result apart."""
    if not isinstance(query, exp.Query):
        return False
    order = query.args.get("order")
    if order is None:
        return False
    by = {one.this.sql(dialect="duckdb").lower() for one in order.expressions}
    if "all" in by:
        return True
    outputs = query.expressions if isinstance(query, exp.Select) else query.selects
    if any(isinstance(one, exp.Star) for one in outputs):
        return False
    for place, output in enumerate(outputs, start=1):
        written = {output.alias_or_name.lower(), output.unalias().sql(dialect="duckdb").lower(), str(place)}
        if not written & by:
            return False
    return True


def _require_one_table(query: exp.Query, table: str) -> None:
    inner = {one.alias.lower() for one in query.find_all(exp.CTE)}
    for one in query.find_all(exp.Table):
        name = one.name.lower()
        if not isinstance(one.this, exp.Identifier) or one.db or one.catalog:
            raise LineageError(f"{one.sql(dialect='duckdb')} is not the table {table}", remedy=_TABLES_ONLY)
        if name not in inner and name != table.lower():
            raise LineageError(f"{one.name} is not the table {table}", remedy=_TABLES_ONLY)
    if query.find(exp.Lateral, exp.Unnest, exp.Pivot) is not None:
        raise LineageError("a receipt knows no LATERAL, UNNEST or PIVOT", remedy=_TABLES_ONLY)


def used_columns(query: exp.Query) -> frozenset[str] | None:
    """The names of columns that the query writes, in lower case; None where a star means all of them."""
    for star in query.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count):
            return None
    return frozenset(column.name.lower() for column in query.find_all(exp.Column))
