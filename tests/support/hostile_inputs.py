"""Every place where bytes of strangers enter, as a function of these bytes: for Hypothesis and for atheris.

Each returns, or raises a LakebedError; anything else is a defect.
"""

import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lakebed
from lakebed.errors import LakebedError
from lakebed.kernels.blocks import BlockReader, Misaligned
from lakebed.kernels.limits import Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import corruption_as_source_error, open_streams
from lakebed.model import Compression, SourceFile
from lakebed.source.header import read_header, read_payer
from lakebed.source.manifest import read_manifest
from lakebed.state.ledger import Ledger
from lakebed.storage import Entry, Storage
from lakebed.targets.parquet.record import CommitRecord, Put
from lakebed.targets.parquet.target import ParquetTarget

LIMITS = Limits(header_bytes=1 << 20, line_bytes=1 << 20, unpacked_bytes=16 << 20, manifest_bytes=1 << 20)
ID = "20261001T120000-0123abcd"
HEADER = ("identity/LineItemId", "bill/PayerAccountId", "lineItem/UnblendedCost")
CSV = b'identity/LineItemId,"bill/PayerAccountId",lineItem/UnblendedCost\n1,"0""1",2.5\n2,,\r\n'


@dataclass(frozen=True)
class Entrance:
    """One place where bytes enter, and some that are right, to start from."""

    name: str
    seeds: tuple[bytes, ...]
    act: Callable[[bytes, Path], object]


def _manifest(data: bytes, _: Path) -> None:
    read_manifest(Entry("/b/r/20261001-20261101/r-Manifest.json", len(data), None, None), data, LIMITS)


def _delivery(data: bytes, folder: Path) -> None:
    """The manifest as it lies in a bucket: its files are looked for, and what a load would do is planned."""
    month = folder / "bills" / "r" / "20261001-20261101"
    month.mkdir(parents=True, exist_ok=True)
    (month / "r-1.csv.gz").write_bytes(gzip.compress(CSV))
    (month / "r-Manifest.json").write_bytes(data)
    lakebed.plan(folder / "bills", f"parquet:{folder / 'bill'}", workdir=folder / "work")


def _csv(compression: Compression) -> Callable[[bytes, Path], None]:
    def act(data: bytes, folder: Path) -> None:
        path = folder / "a.csv"
        path.write_bytes(data)
        file = SourceFile(str(path), "a.csv", "csv", compression, len(data))
        for look in (read_header, read_payer):
            try:
                look(file, Storage(), LIMITS)
            except LakebedError:
                continue
        for exact in (False, True):
            try:
                with corruption_as_source_error(file):
                    for stream in open_streams(file, StorageSettings(), LIMITS):
                        for _ in BlockReader(stream, key="a.csv", exact=exact, limits=LIMITS):
                            pass
                return
            except Misaligned:
                assert not exact

    return act


def _parquet(data: bytes, folder: Path) -> None:
    (folder / "t").mkdir(exist_ok=True)
    path = folder / "t" / "a.parquet"
    path.write_bytes(data)
    with suppress(LakebedError):
        read_header(SourceFile(str(path), "a.parquet", "parquet", "none", len(data)), Storage(), LIMITS)
    ParquetTarget(str(folder / "t"), read_only=True).state()


def _journal(data: bytes, folder: Path) -> None:
    (folder / ".t.txn").mkdir(exist_ok=True)
    (folder / ".t.txn" / "commit.json").write_bytes(data)
    ParquetTarget(str(folder / "t"), read_only=True, wait_seconds=0).state()


def _ledger(data: bytes, folder: Path) -> None:
    path = folder / "ledger.db"
    path.write_bytes(data)
    for opening in (Ledger.read, Ledger.open):
        with opening(path) as ledger:
            ledger.deliveries()
            ledger.loads()
            ledger.orphans()


def _sql(data: bytes, _: Path) -> None:
    lakebed.analyze(data.decode("utf-8", errors="replace"))


def _zipped(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", content)
    return packed.getvalue()


def _parquet_file() -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "tags": [[("a", "b")], None]}, schema=_PARQUET), written)
    return written.getvalue()


_PARQUET = pa.schema([("id", pa.int64()), ("tags", pa.map_(pa.string(), pa.string()))])


def _old_ledger() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.executescript((Path(__file__).parent.parent / "state" / "versions" / "v1.sql").read_text())
        data = connection.serialize()
    connection.close()
    return data


def entrances() -> Iterator[Entrance]:
    manifest = {
        "assemblyId": "20261003T000000Z",
        "reportName": "r",
        "columns": [{"category": "lineItem", "name": "UnblendedCost", "type": "BigDecimal"}],
        "reportKeys": ["r/20261001-20261101/r-1.csv.gz"],
        "billingPeriod": {"start": "20261001T000000.000Z"},
    }
    record = CommitRecord(ID, "pending", (Put("a.parquet", "p=1/a.parquet", 4, "crc32:00000000"),))
    yield Entrance("manifest", (json.dumps(manifest).encode(), b'{"dataFiles": ["s3://b/k.parquet"]}'), _manifest)
    columns = [dict(zip(("category", "name"), name.split("/"), strict=True)) for name in HEADER]
    yield Entrance("delivery", (json.dumps({**manifest, "columns": columns}).encode(),), _delivery)
    yield Entrance("csv", (CSV, b"\xef\xbb\xbf" + CSV), _csv("none"))
    yield Entrance("gzip", (gzip.compress(CSV), gzip.compress(CSV) * 2), _csv("gzip"))
    yield Entrance("zip", (_zipped(CSV),), _csv("zip"))
    yield Entrance("parquet", (_parquet_file(),), _parquet)
    yield Entrance("journal", (record.to_bytes(uri="u"), CommitRecord(ID, "applied").to_bytes(uri="u")), _journal)
    yield Entrance("ledger", (_old_ledger(),), _ledger)
    yield Entrance("sql", (b"SELECT a.b, sum(c) OVER (PARTITION BY d) FROM a JOIN e USING (f)", b"MERGE INTO t"), _sql)


def enter(entrance: Entrance, data: bytes, folder: Path) -> None:
    """Lets these bytes in; a named refusal is as good as an answer."""
    try:
        entrance.act(data, folder)
    except LakebedError:
        return
