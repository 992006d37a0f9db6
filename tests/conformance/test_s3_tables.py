"""S3 Tables: ARN-shaped prefixes and signed requests, on MiniStack; and catalogs that cannot stage a creation."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import BadRequestError
from tests.support.iceberg_tables import NOVEMBER, OCTOBER, load, open_table, rows_of
from tests.support.s3_tables import S3Tables, s3_tables

from lakebed.datasets import evolve_s3_tables_schema
from lakebed.errors import ColumnDropRefused, ConcurrentModification


@pytest.fixture(scope="module")
def aws() -> Iterator[S3Tables]:
    with s3_tables() as running:
        yield running


@pytest.mark.server
def test_a_table_in_a_table_bucket(aws: S3Tables, tmp_path: Path) -> None:
    assert aws.bucket_arn.startswith("arn:aws:s3tables:")
    target = open_table(tmp_path, "billing.costs", storage=aws.settings, **aws.catalog_properties)
    load(target, pa.table({"id": [1, 2]}), OCTOBER, partition_by=["lakebed_period"])
    load(target, pa.table({"id": [3], "tag": ["x"]}), NOVEMBER)
    load(target, pa.table({"id": [4], "tag": ["y"]}), OCTOBER)
    assert [(row["id"], row["tag"]) for row in rows_of(target)] == [(3, "x"), (4, "y")]
    assert len(target.existing_table().snapshots()) == 3


@pytest.mark.server
def test_the_specifications_function_on_a_table_bucket(
    aws: S3Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    properties = "\n".join(f'"{key}" = "{value}"' for key, value in aws.catalog_properties.items())
    storage = (
        f'endpoint_url = "{aws.endpoint}"\nregion = "us-east-1"\naccess_key_id = "test"\nsecret_access_key = "test"'
    )
    Path("lakebed.toml").write_text(f"[storage]\n{storage}\n[catalog.lakebed]\n{properties}\n")
    target = open_table(tmp_path, "billing.evolved", storage=aws.settings, **aws.catalog_properties)
    load(target, pa.table({"a": [1], "b": [2]}))
    assert evolve_s3_tables_schema("billing.evolved", [{"name": "c", "type": "VARCHAR"}]) is True
    with pytest.raises(ColumnDropRefused):
        evolve_s3_tables_schema("billing.evolved", [], drop_columns=["a"])
    assert rows_of(target) == [{"a": 1, "b": 2, "c": None}]


def test_a_catalog_that_cannot_stage_a_creation_gets_an_empty_table_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS answers 400 to stage-create, which neither server here does."""
    target = open_table(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise BadRequestError("stage-create is not supported")

    monkeypatch.setattr(target.catalog, "create_table_transaction", refuse)
    load(target, pa.table({"id": [1]}), OCTOBER, partition_by=["lakebed_period"])
    assert [row["id"] for row in rows_of(target)] == [1]
    assert target.state().partition_by == ("lakebed_period",)
    load(target, pa.table({"id": [2]}), OCTOBER)
    assert [row["id"] for row in rows_of(target)] == [2]


def test_two_that_make_an_empty_table_do_not_both_load_the_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.targets.iceberg.test_target import stage_rows

    first, second = open_table(tmp_path), open_table(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise BadRequestError("stage-create is not supported")

    monkeypatch.setattr(first.catalog, "create_table_transaction", refuse)
    planned = stage_rows(first, pa.table({"id": [1]}), OCTOBER)
    load(second, pa.table({"id": [1]}), OCTOBER)
    with pytest.raises(ConcurrentModification, match="2026-10"):
        first.commit(*planned)
    assert len(rows_of(second)) == 1
