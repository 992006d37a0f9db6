"""Tables whose catalog hands out keys that expire: nothing else opens their files, and we know no other keys."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.lending import Lender, lending_catalog
from tests.support.rest_fixture import rest_fixture
from tests.support.s3_server import S3Server

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.errors import LakebedError
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.workspace import Workspace

pytestmark = pytest.mark.server

TABLE = "iceberg:prod:story.wares"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lending")
    properties = {
        "warehouse": s3_server.new_bucket("lent") + "/warehouse",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": s3_server.endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": s3_server.access_key,
        "s3.secret-access-key": s3_server.secret_key,
        "client.region": s3_server.region,
    }
    with rest_fixture(folder, **properties) as uri:
        yield uri


@pytest.fixture
def lender(
    tmp_path: Path, s3_server: S3Server, catalog: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Lender]:
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    with lending_catalog(s3_server, catalog) as lender:
        (tmp_path / "lakebed.toml").write_text(f'[catalog.prod]\ntype = "rest"\nuri = "{lender.uri}"\n')
        yield lender


def rows(address: str, column: str = "sku") -> list[object]:
    found = lakebed.read(address)
    return sorted((found if isinstance(found, pa.Table) else found.to_table())[column].to_pylist(), key=str)


def wares(*skus: str, **more: list[object]) -> pa.Table:
    return pa.table({"sku": list(skus), **more})


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_merges(lender: Lender, engine: Literal["arrow", "duckdb"]) -> None:
    """The first one creates the table; before each the keys of the last are ended."""
    address = f"iceberg:prod:merges.{engine}"
    assert lakebed.merge(wares("a", "b"), address, keys="sku", engine=engine).total == 2
    lender.expire()
    done = lakebed.merge(wares("b", "c", tint=["red", "blue"]), address, keys="sku", engine=engine)
    assert (done.updated, done.added_columns) == (1, ("tint",))
    lender.expire()
    assert rows(address) == ["a", "b", "c"]
    assert lender.refused == 0
    assert any("/data/" in path for path in lender.written)


def test_writes_compacts_sweeps_and_the_rest(lender: Lender) -> None:
    address = "iceberg:prod:story.wares"
    steps: list[Callable[[], object]] = [
        lambda: lakebed.write(wares("a"), address),
        lambda: lakebed.write(wares("b", tint=["red"]), address),
        lambda: lakebed.evolve(address, {"note": "string"}),
        lambda: lakebed.write(wares("c"), f"{address}@audit"),
        lambda: lakebed.publish(f"{address}@audit"),
        lambda: lakebed.compact(address, sort_by="sku"),
        lambda: lakebed.write(wares("z", tint=["red"]), address, mode="replace_slice", slice={"tint": "red"}),
        lambda: lakebed.rollback(address, lakebed.history(address).snapshots[1].id),
        lambda: lakebed.sweep(address, older_than_days=0, expire_days=0),
    ]
    for step in steps:
        step()
        lender.expire()
    assert rows(address) == ["a", "b"]
    assert lender.refused == 0


def test_keys_that_end_while_rows_are_written(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit asks for keys of its own."""
    address = "iceberg:prod:late.wares"
    lakebed.write(wares("a"), address)
    commit = IcebergTarget.commit

    def late(self: IcebergTarget, *arguments: object) -> object:
        lender.expire()
        return commit(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(IcebergTarget, "commit", late)
    lakebed.write(wares("b"), address)
    assert lakebed.merge(wares("b", "c"), address, keys="sku", engine="arrow").total == 3


def test_what_a_crashed_write_left_is_swept_with_lent_keys(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "iceberg:prod:swept.wares"
    lakebed.write(wares("a"), address)
    crash = KeyboardInterrupt("the machine is switched off")

    def fail(*_: object) -> None:
        raise crash

    with monkeypatch.context() as patch:
        patch.setattr(IcebergTarget, "commit", fail)
        patch.setattr(IcebergTarget, "abandon", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            lakebed.write(wares("b"), address)
    lender.expire()
    seen = lakebed.sweep(address, older_than_days=0, dry_run=True).files
    assert len(seen) == 1
    lender.expire()
    assert lakebed.sweep(address, older_than_days=0).files == seen
    assert lakebed.sweep(address, older_than_days=0).files == ()
    assert rows(address) == ["a"]


def test_a_source_in_a_bucket_of_our_own(lender: Lender, s3_server: S3Server, tmp_path: Path) -> None:
    """Our keys for the source, the catalog's for the table, in one merge and one write."""
    place = s3_server.new_bucket("source")
    pq.write_table(wares("x", "y"), f"{place.removeprefix('s3://')}/in.parquet", filesystem=s3_server.filesystem())
    settings = tmp_path / "lakebed.toml"
    keys = s3_server.settings
    own = {
        "endpoint_url": keys.endpoint_url,
        "region": keys.region,
        "access_key_id": keys.access_key_id,
        "secret_access_key": keys.secret_access_key,
    }
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in own.items())
    settings.write_text(f"[storage]\n{lines}{settings.read_text()}")
    address = "iceberg:prod:sources.wares"
    lakebed.merge(f"{place}/in.parquet", address, keys="sku", engine="arrow")
    lakebed.write(f"{place}/in.parquet", address)
    assert rows(address) == ["x", "x", "y", "y"]
    assert sum("/sources/wares/data/" in path for path in lender.written) == 2, "with the table's keys"


def test_without_keys_for_a_source_the_refusal_names_it(lender: Lender, s3_server: S3Server) -> None:
    place = s3_server.new_bucket("closed")
    with pytest.raises(LakebedError, match="closed"):
        lakebed.merge(f"{place}/in.parquet", "iceberg:prod:refused.wares", keys="sku", engine="arrow")


@pytest.mark.spark
def test_a_load_and_a_read_on_spark(lender: Lender, tmp_path: Path, spark_local: Session) -> None:
    """Workers carry the keys that the table was staged with, at its creation and later."""
    lakebed.sample(tmp_path / "bills", months=2, rows=40, columns=63)
    for step in range(2):
        done = lakebed.run(tmp_path / "bills", "iceberg:prod:bills", spark=spark_local.spark)
        assert all(one.state == "loaded" for one in done.deliveries), step
        lender.expire()
    table = f"iceberg:prod:bills.{done.table}"
    assert lakebed.read(table, spark=spark_local.spark).count() == done.rows
    lender.expire()
    frame = spark_local.spark.createDataFrame([("a",), ("b",)], "sku string")
    assert lakebed.write(frame, "iceberg:prod:bills.wares").rows == 2
    lender.expire()
    assert lakebed.merge(frame, "iceberg:prod:bills.wares", keys="sku").updated == 2
    target = Workspace.open().target("iceberg:prod:bills.wares")
    assert isinstance(target, IcebergTarget)
    assert target.existing_table().scan().to_arrow().num_rows == 2
