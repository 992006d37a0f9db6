"""Headers are read with few bytes, and a header that cannot be right is refused."""

import gzip
import io
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import SHARED

from lakebed.errors import HeaderError, NotFound, SourceError
from lakebed.model import Compression, Content, Delivery, Slice, SourceColumn, SourceFile
from lakebed.source.header import read_header, read_payer, with_columns
from lakebed.storage import Storage

SAMPLES = SHARED / "samples" / "cur"


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", b"")
        archive.writestr("__MACOSX/._report.csv", b"shadow")
        archive.writestr("report.csv", content)
    return buffer.getvalue()


PACKERS = {"none": lambda content: content, "gzip": gzip.compress, "zip": zipped}


def csv_file(folder: Path, content: bytes, compression: Compression = "none") -> SourceFile:
    path = folder / "report-00001.csv"
    path.write_bytes(PACKERS[compression](content))
    return SourceFile(str(path), "prefix/report-00001.csv", "csv", compression, path.stat().st_size)


@pytest.mark.parametrize("compression", ["none", "gzip", "zip"])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_packing_newlines_and_bom(tmp_path: Path, compression: Compression, newline: bytes, mark: bytes) -> None:
    header = b'identity/LineItemId,"resourceTags/user:Team, ""Blue""",bill/PayerAccountId'
    content = mark + newline.join([header, b'1,"two\nlines",000123', b"2,,000123", b""])
    file = csv_file(tmp_path, content, compression)
    assert read_header(file, Storage()) == (
        "identity/LineItemId", 'resourceTags/user:Team, "Blue"', "bill/PayerAccountId",
    )  # fmt: skip


@pytest.mark.parametrize("compression", ["none", "gzip", "zip"])
def test_a_header_longer_than_the_first_read(tmp_path: Path, compression: Compression) -> None:
    names = [f"resourceTags/user:{number:05d}{'ü' * 240}" for number in range(2_000)]
    content = ",".join(names) + "\n" + ",".join(str(hash(name)) for name in names) + "\n"
    file = csv_file(tmp_path, content.encode() * 1 + b"x," * 1999 + b"x\n", compression)
    assert read_header(file, Storage()) == tuple(names)


def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path) -> None:
    class Counting(Storage):
        count = 0

        def read_range(self, uri: str, start: int, length: int) -> bytes:
            data = super().read_range(uri, start, length)
            self.count += len(data)
            return data

    storage = Counting()
    file = csv_file(tmp_path, b"a,b\n" + b"1,2\n" * 2_000_000)
    assert read_header(file, storage) == ("a", "b")
    assert storage.count <= 64 * 1024


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    file = csv_file(tmp_path, b"a,b,a,,a,\n1,2,3,4,5,6\n")
    assert read_header(file, Storage()) == ("a", "b", "a#2", "", "a#3", "#2")


def test_a_file_with_a_header_only_is_an_empty_month(tmp_path: Path) -> None:
    assert read_header(csv_file(tmp_path, b"a,b,c\r\n"), Storage()) == ("a", "b", "c")
    assert read_header(csv_file(tmp_path, b"a,b,c", "gzip"), Storage()) == ("a", "b", "c")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_no_header_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(HeaderError, match="there is no header"):
        read_header(csv_file(tmp_path, content), Storage())


def test_fewer_names_than_fields_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HeaderError, match="names 2 columns, the first line after it has 3 fields") as refused:
        read_header(csv_file(tmp_path, b"a,b\n1,2,3\n"), Storage())
    assert refused.value.file == "prefix/report-00001.csv"
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [("a,b\n1,2\n".encode("utf-16"), "UTF-16"), (b"a,\xff\xfe\xfd\n1,2\n", "not UTF-8"), (b"a\0b\n", "not text")],
)
def test_other_encodings_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(HeaderError, match=message):
        read_header(csv_file(tmp_path, content), Storage())


def test_a_file_that_is_not_what_its_name_says(tmp_path: Path) -> None:
    path = tmp_path / "report.csv.gz"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(SourceError, match="not readable as gzip"):
        read_header(SourceFile(str(path), path.name, "csv", "gzip", path.stat().st_size), Storage())


def test_the_header_decides_which_columns_there_are(tmp_path: Path) -> None:
    long_tag = "resourceTags/user:" + "x" * 232
    assert len(long_tag) == 250
    file = csv_file(tmp_path, f"lineItem/UnblendedCost,{long_tag},lineItem/UsageAmount\n1,2,3\n".encode())
    listed = (SourceColumn("lineItem/UnblendedCost", "BigDecimal"), SourceColumn("bill/Gone", "String"))
    delivery = Delivery(Slice("p", "r", "2026-09"), "id", "cur", "m", listed, (file,))
    with pytest.raises(HeaderError, match="bill/Gone"):
        with_columns(delivery, Storage())
    assert with_columns(delivery, Storage(), allow_missing=["bill/Gone"]).columns == (
        SourceColumn("lineItem/UnblendedCost", "BigDecimal"),
        SourceColumn(long_tag),
        SourceColumn("lineItem/UsageAmount"),
    )


def test_a_bad_byte_below_the_header_is_left_to_the_load_which_knows_its_line(tmp_path: Path) -> None:
    lines = [b"a,b", *(b"%d,x" % number for number in range(2, 900)), b"900,\xff\xfe", b""]
    assert read_header(csv_file(tmp_path, b"\n".join(lines)), Storage()) == ("a", "b")
    first = csv_file(tmp_path, b"bill/PayerAccountId,b\n12\xff,x\n")
    assert read_payer(first, Storage()) == "12\ufffd"


def test_parquet_tells_its_own_types(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    tags = pa.array([[("user_name", "a")]], pa.map_(pa.string(), pa.string()))
    pq.write_table(pa.table({"line_item_unblended_cost": [1.5], "resource_tags": tags, "sku": ["a"]}), path)
    file = SourceFile(str(path), "x.parquet", "parquet", "none", path.stat().st_size)
    delivery = Delivery(
        Slice("p", "r", "2026-09"), "id", "cur2", "m", (SourceColumn("sku", "OptionalString"),), (file,)
    )
    found = {column.original: column.declared_type for column in with_columns(delivery, Storage()).columns}
    assert found["line_item_unblended_cost"] == "double"
    assert str(found["resource_tags"]).startswith("map<")
    assert found["sku"] == "OptionalString"
    path.write_bytes(b"PAR1 no")
    with pytest.raises(HeaderError, match="not readable as Parquet"):
        read_header(SourceFile(str(path), "x.parquet", "parquet", "none", 7), Storage())


def test_an_export_without_columns_is_known_by_its_header(tmp_path: Path) -> None:
    file = csv_file(tmp_path, b"BilledCost,BillingAccountId,ChargePeriodStart\n1,2,3\n")
    delivery = Delivery(Slice("p", "r", "2026-09"), "id", "cur2", "m", (), (file,))
    assert with_columns(delivery, Storage()).kind == "focus"


@pytest.mark.skipif(not SAMPLES.exists(), reason="the shared samples are not here")
def test_a_real_header_with_a_lost_comma_is_refused() -> None:
    for name, compression in (("test_cur.csv", "none"), ("test_cur.csv.gz", "gzip")):
        path = SAMPLES / "koku_testdata" / name
        file = SourceFile(str(path), name, "csv", compression, path.stat().st_size)  # type: ignore[arg-type]
        with pytest.raises(HeaderError, match="OfferingClasspricing/PurchaseOption looks like two names"):
            read_header(file, Storage())


@pytest.mark.parametrize(("name", "content"), [("a.csv", "csv"), ("a.parquet", "parquet")])
def test_a_file_that_went_away_is_not_found_and_not_damaged(tmp_path: Path, name: str, content: Content) -> None:
    with pytest.raises(NotFound):
        read_header(SourceFile(str(tmp_path / name), name, content, "none", 100), Storage())
