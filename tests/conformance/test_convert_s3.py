"""The load from S3 to S3, on a real server, with nothing of this machine's disk."""

import gzip
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.s3_server import S3Server

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob, FileDone
from lakebed.engines.spark.load import SparkEngine
from lakebed.engines.spark.session import Session
from lakebed.errors import BadValue, NotFound
from lakebed.kernels.files import filesystem
from lakebed.model import DataFile, SourceFile, Staging
from lakebed.schema.types import Column, Schema, Text
from lakebed.storage import Storage, join

TABLE = pa.schema([("id", pa.string()), ("cost", pa.decimal128(38, 18))])


def job(bucket: str, *keys: str) -> ConvertJob:
    return ConvertJob(
        files=tuple(SourceFile(join(bucket, "in", key), key, "csv", "gzip", 1) for key in keys),
        columns=Schema.of(Column(name, Text(), original=name) for name in TABLE.names),
        constants={},
        staging=Staging("one", join(bucket, "staging"), TABLE, ("lakebed_period",)),
        partition={"lakebed_period": "2026-10"},
    )


def put(server: S3Server, bucket: str, key: str, text: str) -> None:
    Storage(server.settings).put(join(bucket, "in", key), gzip.compress(text.encode()))


@pytest.mark.server
def test_from_s3_to_s3_in_this_process(s3_server: S3Server, s3_bucket: str) -> None:
    put(s3_server, s3_bucket, "a b+ü.csv.gz", "id,cost\n1,4.0E-7\n2,1\n")
    put(s3_server, s3_bucket, "bad.csv.gz", "id,cost\n1,oops\n")
    engine = ArrowEngine(s3_server.settings)
    result = engine.convert(job(s3_bucket, "a b+ü.csv.gz"))
    opened, path = filesystem(join(s3_bucket, "staging", result.files[0].path), s3_server.settings.resolved())
    table = pq.ParquetFile(opened.open_input_file(path)).read()
    assert table.column("cost").to_pylist() == [Decimal("4.0E-7"), Decimal(1)]
    assert opened.get_file_info(path).size == result.files[0].size_bytes
    existing = DataFile(join(s3_bucket, "staging", result.files[0].path), 2, 1, result.files[0].partition)
    assert engine.rewrite([existing], job(s3_bucket).staging)[0].rows == 2
    with pytest.raises(BadValue, match=r"bad\.csv\.gz, line 2"):
        engine.convert(job(s3_bucket, "bad.csv.gz"))
    with pytest.raises(NotFound, match=r"gone\.csv\.gz"):
        engine.convert(job(s3_bucket, "gone.csv.gz"))


@pytest.mark.server
@pytest.mark.spark
def test_from_s3_to_s3_on_spark(spark_local: Session, s3_server: S3Server, s3_bucket: str) -> None:
    put(s3_server, s3_bucket, "1.csv.gz", "id,cost\n1,4.0E-7\n")
    put(s3_server, s3_bucket, "2.csv.gz", "id,cost\n1,2\n")
    told: list[FileDone] = []
    result = SparkEngine(spark_local.spark, s3_server.settings).convert(
        job(s3_bucket, "1.csv.gz", "2.csv.gz"), told.append
    )
    assert result.source.sums == {"cost": Decimal("2.0000004")}
    assert sorted(done.file.key for done in told) == ["1.csv.gz", "2.csv.gz"]
