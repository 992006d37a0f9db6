"""The never-drop specification on real Iceberg tables: `evolve_s3_tables_schema`, and both evolution cycles."""

import logging
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.iceberg_tables import load, open_table, rows_of

from lakebed.datasets import evolve_s3_tables_schema
from lakebed.errors import AmbiguousColumnCase, ColumnDropRefused, NotFound, TargetError
from lakebed.schema.types import Decimal, Struct, Text, Timestamp


@dataclass(frozen=True)
class Relation:
    """dbt's relation, as the specification's macro passes it."""

    database: str | None
    schema: str
    identifier: str


RELATION = Relation("lakebed", "billing", "costs")


@pytest.fixture(autouse=True)
def _workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEBED_WORKDIR", str(tmp_path))


def test_columns_are_added_and_true_is_returned(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"customerid": [1], "name": ["x"], "placeholder5": ["kept"]}))
    new = [
        {"name": "placeholder6", "type": "VARCHAR"},
        {"name": "amount", "type": "DECIMAL(18,3)"},
        {"name": "at", "type": "TIMESTAMP WITH TIME ZONE"},
        {"name": "place", "type": "STRUCT(city VARCHAR, zip INTEGER)"},
    ]
    assert evolve_s3_tables_schema(RELATION, new) is True
    schema = target.state().schema
    assert schema.names == ("customerid", "name", "placeholder5", "placeholder6", "amount", "at", "place")
    assert isinstance(schema["place"].type, Struct)
    assert schema["amount"].type == Decimal(18, 3)
    assert schema["at"].type == Timestamp("us", "UTC")
    assert rows_of(target)[0]["placeholder5"] == "kept"


@pytest.mark.parametrize("relation", [RELATION, "billing.costs", "lakebed.billing.costs", "iceberg:billing.costs"])
def test_a_relation_can_be_written_as_text(tmp_path: Path, relation: object) -> None:
    load(open_table(tmp_path), pa.table({"id": [1]}))
    assert evolve_s3_tables_schema(relation, [{"name": "b", "type": "INTEGER"}]) is True  # type: ignore[arg-type]


def test_a_drop_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"a": [1], "b": [2]}))
    before = target.existing_table().metadata_location
    with pytest.raises(ColumnDropRefused, match="Column drops not supported"):
        evolve_s3_tables_schema(RELATION, [{"name": "c", "type": "INTEGER"}], drop_columns=["b"])
    assert target.existing_table().metadata_location == before
    assert evolve_s3_tables_schema(RELATION, [], drop_columns=[]) is True
    assert evolve_s3_tables_schema(RELATION, None, drop_columns=None) is True
    assert target.existing_table().metadata_location == before


def test_an_unknown_type_becomes_text_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"a": [1]}))
    with caplog.at_level(logging.WARNING, logger="lakebed"):
        assert evolve_s3_tables_schema(RELATION, [{"name": "shape", "type": "GEOMETRY(POINT, 4326)"}]) is True
    assert "shape" in caplog.text
    assert target.state().schema["shape"].type == Text()


def test_columns_that_are_there_in_another_case_are_left_alone(tmp_path: Path) -> None:
    target = open_table(tmp_path)
    load(target, pa.table({"CustomerID": [1]}))
    assert evolve_s3_tables_schema(RELATION, [{"name": "customerid", "type": "BIGINT"}]) is True
    assert target.state().schema.names == ("CustomerID",)
    with pytest.raises(AmbiguousColumnCase):
        evolve_s3_tables_schema(RELATION, [{"name": "x", "type": "INT"}, {"name": "X", "type": "INT"}])


def test_a_catalog_that_is_not_there_is_named_with_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lakebed.toml").write_text(
        '[catalog.lakebed]\ntype = "rest"\nuri = "http://127.0.0.1:9/iceberg"\nwarehouse = "arn:aws:s3tables:x"\n'
    )
    with pytest.raises(TargetError, match=r"uri=http://127\.0\.0\.1:9/iceberg, warehouse=arn:aws:s3tables:x"):
        evolve_s3_tables_schema(RELATION, [{"name": "b", "type": "INTEGER"}])


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    load(open_table(tmp_path), pa.table({"a": [1]}))
    with pytest.raises(NotFound, match=r"billing\.nothing"):
        evolve_s3_tables_schema("billing.nothing", [{"name": "b", "type": "INTEGER"}])


def test_end_to_end_schema_evolution(tmp_path: Path) -> None:
    """[a, b, c], then a model with [a, b, d]: the table has all four, and new rows have NULL for c."""
    target = open_table(tmp_path)
    load(target, pa.table({"a": [1], "b": [1], "c": [1]}))
    load(target, pa.table({"a": [2], "b": [2], "d": [2]}))
    assert rows_of(target) == [{"a": 1, "b": 1, "c": 1, "d": None}, {"a": 2, "b": 2, "c": None, "d": 2}]


def test_multiple_evolution_cycles(tmp_path: Path) -> None:
    """[a, b], then [a, c], then [a, d]: the final table has all four."""
    target = open_table(tmp_path)
    for run, names in enumerate((["a", "b"], ["a", "c"], ["a", "d"]), start=1):
        load(target, pa.table({name: [run] for name in names}))
    assert rows_of(target) == [
        {"a": 1, "b": 1, "c": None, "d": None},
        {"a": 2, "b": None, "c": 2, "d": None},
        {"a": 3, "b": None, "c": None, "d": 3},
    ]


NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=5, unique=True)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(runs=st.lists(NAMES, min_size=2, max_size=4))
def test_property_whatever_comes_no_column_no_row_and_no_field_id_is_lost(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[str]]
) -> None:
    target = open_table(tmp_path_factory.mktemp("lake"))
    seen: list[str] = []
    ids: dict[str, int] = {}
    for number, names in enumerate(runs):
        load(target, pa.table({name: [number] for name in names}))
        seen += [name for name in names if name not in seen]
        fields = {field.name: field.field_id for field in target.existing_table().schema().fields}
        assert list(fields) == seen
        assert ids.items() <= fields.items()
        ids = fields
    rows = rows_of(target)
    assert len(rows) == len(runs)
    for number, names in enumerate(runs):
        assert {name: number if name in names else None for name in seen} in rows
