"""The entry points of the CUR specification: `load_csv_file` and its companions, from `lakebed.datasets`."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from lakebed import datasets
from lakebed.errors import BadValue, HeaderError, LakebedError, NotFound

COLUMNS = [
    {"category": "identity", "name": "LineItemId", "type": "String"},
    {"category": "lineItem", "name": "UsageStartDate", "type": "DateTime"},
    {"category": "lineItem", "name": "UnblendedCost", "type": "BigDecimal"},
    {"category": "product", "name": "group", "type": "String"},
    {"category": "resourceTags", "name": "user:Environment", "type": "BigDecimal"},
    {"category": "resourceTags", "name": "user:environment", "type": "String"},
]
AUGUST = {"columns": COLUMNS}
HEADER = ",".join(f"{column['category']}/{column['name']}" for column in COLUMNS)


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def write(path: Path, *lines: str) -> str:
    data = "\n".join((*lines, "")).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def describe(connection: duckdb.DuckDBPyConnection, table: str = "cur") -> dict[str, tuple[str, str | None]]:
    return {
        name: (type_, comment)
        for name, type_, comment in connection.execute(
            "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ?", [table]
        ).fetchall()
    }


@pytest.mark.parametrize("name", ["august.csv", "august.csv.gz"])
def test_a_new_table_has_the_columns_of_the_manifest_their_types_and_their_originals(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str
) -> None:
    path = write(tmp_path / name, HEADER, "a,2026-08-01T00:00:00Z,4.0E-7,ec2,prod,blue", "b,,1.5,,,")
    assert datasets.load_csv_file(connection, "cur", path, AUGUST) == 2
    assert describe(connection) == {
        "identity_line_item_id": ("VARCHAR", "identity/LineItemId"),
        "line_item_usage_start_date": ("TIMESTAMP", "lineItem/UsageStartDate"),
        "line_item_unblended_cost": ("DECIMAL(38,18)", "lineItem/UnblendedCost"),
        "product_group": ("VARCHAR", "product/group"),
        "resource_tags_user_environment": ("VARCHAR", "resourceTags/user:Environment"),
        "resource_tags_user_environment_1": ("VARCHAR", "resourceTags/user:environment"),
    }
    [(total, rows, environment)] = connection.execute(
        "SELECT sum(line_item_unblended_cost), count(*), max(resource_tags_user_environment_1) FROM cur"
    ).fetchall()
    assert (total, rows, environment) == (Decimal("1.5000004"), 2, "blue")


def test_the_specification_s_own_types_are_one_setting_away(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.csv", HEADER, "a,,1.005,,,")
    datasets.load_csv_file(connection, "cur", path, AUGUST, decimals="18,2")
    assert {name: type_ for name, (type_, _) in describe(connection).items()} == datasets.get_unified_schema(
        [AUGUST], decimals="18,2"
    )
    assert connection.execute("SELECT line_item_unblended_cost FROM cur").fetchall() == [(Decimal("1.01"),)]


def test_a_later_month_adds_its_columns_and_colliding_tags_stay_apart_in_any_order(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    datasets.load_csv_file(connection, "cur", write(tmp_path / "8.csv", HEADER, "a,,1,,UPPER,lower"), AUGUST)
    september = {"columns": [*reversed(COLUMNS), {"category": "discount", "name": "Total", "type": "String"}]}
    header = "resourceTags/user:environment,resourceTags/user:Environment,identity/LineItemId,discount/Total"
    path = write(tmp_path / "9.csv", header, "lower,UPPER,b,9")
    assert datasets.get_new_columns(describe(connection), september["columns"]) == {"discount_total": "VARCHAR"}
    assert datasets.load_csv_file(connection, "cur", path, september) == 1
    rows = connection.execute(
        "SELECT resource_tags_user_environment, resource_tags_user_environment_1, discount_total FROM cur ORDER BY 3"
    ).fetchall()
    assert rows == [("UPPER", "lower", "9"), ("UPPER", "lower", None)]


def test_columns_that_only_the_header_has_and_duplicate_headers_are_all_loaded(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    header = ["lineItem/UsageAmount", "product/memory", "product/memory", "order"]
    path = write(tmp_path / "a.csv", ",".join(header), "1.25,x,y,z")
    datasets.load_csv_file(connection, "cur", path, json.loads('{"columns": []}'))
    assert list(describe(connection)) == datasets.create_column_mapping(header)
    assert connection.execute("SELECT * FROM cur").fetchall() == [(Decimal("1.25"), "x", "y", "z")]
    assert list(describe(connection)) == ["line_item_usage_amount", "product_memory", "product_memory_1", "order_col"]


@pytest.mark.parametrize(
    ("lines", "error", "says"),
    [
        ((HEADER, "a,,1,,,", "b,,abc,,,"), BadValue, r"line 3(.|\n)*lineItem/UnblendedCost(.|\n)*'abc'"),
        ((HEADER, "a,b"), HeaderError, "names 6 columns"),
        ((), HeaderError, "empty"),
    ],
)
def test_a_refused_file_leaves_no_table_behind(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, lines: tuple[str, ...], error: type[LakebedError], says: str
) -> None:
    with pytest.raises(error, match=says):
        datasets.load_csv_file(connection, "cur", write(tmp_path / "a.csv", *lines), AUGUST)
    assert describe(connection) == {}


def test_a_file_that_is_not_there_is_named(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"absent\.csv"):
        datasets.load_csv_file(connection, "cur", str(tmp_path / "absent.csv"), AUGUST)


def test_the_caller_s_transaction_is_used_and_left_open(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", HEADER, "a,,1,,,")
    connection.execute("BEGIN")
    assert datasets.load_csv_file(connection, "cur", path, AUGUST) == 1
    connection.execute("ROLLBACK")
    assert describe(connection) == {}
    assert datasets.load_csv_file(connection, "cur", path, AUGUST) == 1
    assert datasets.load_csv_file(connection, "cur", path, AUGUST) == 1
    assert connection.execute("SELECT count(*) FROM cur").fetchall() == [(2,)]


def test_a_header_without_rows_makes_the_table_and_loads_nothing(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert datasets.load_csv_file(connection, "cur", write(tmp_path / "a.csv", HEADER), AUGUST) == 0
    assert len(describe(connection)) == 6
