"""Headers in packed files: several gzip members, archives without a file, and where the first read ends."""

import gzip
import io
import zipfile
from pathlib import Path

import pytest

from lakebed.errors import HeaderError, SourceError
from lakebed.model import Compression, SourceFile
from lakebed.source.header import read_header, read_payer
from lakebed.storage import Storage


def packed(folder: Path, content: bytes, compression: Compression) -> SourceFile:
    path = folder / "report-1"
    path.write_bytes(content)
    return SourceFile(str(path), "report-1", "csv", compression, len(content))


def archive(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as opened:
        for name, content in members:
            opened.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "members",
    [
        (b"bill/PayerAccountId,b\n", b"7,2\n"),
        (b"bill/Payer", b"AccountId,b\n7,", b"2\n"),
        (b"", b"bill/PayerAccountId,b\n7,2\n", b""),
        (b"bill/PayerAccountId,b\n7,2", b""),
    ],
)
def test_a_gzip_file_of_several_members_is_one_text(tmp_path: Path, members: tuple[bytes, ...]) -> None:
    file = packed(tmp_path, b"".join(map(gzip.compress, members)), "gzip")
    assert read_header(file, Storage()) == ("bill/PayerAccountId", "b")
    assert read_payer(file, Storage()) == "7"


@pytest.mark.parametrize(
    "content",
    # Their ids have no clock's time in them, as the bytes would: all processes of a run must name a test alike.
    [gzip.compress(b""), gzip.compress(b"") * 2, gzip.compress(b"\n\r\n")],
    ids=["one member", "two members", "blank lines"],
)
def test_a_gzip_file_of_nothing_has_no_header(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(HeaderError, match="there is no header"):
        read_header(packed(tmp_path, content, "gzip"), Storage())


@pytest.mark.parametrize(
    "content",
    [archive(), archive(("folder/", b"")), archive(("folder/", b""), ("__MACOSX/._a.csv", b"shadow"))],
    ids=["nothing", "a folder", "a folder and a shadow"],
)
def test_an_archive_without_a_file_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SourceError, match="report-1: there is no file in the archive"):
        read_header(packed(tmp_path, content, "zip"), Storage())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_first_file_of_an_archive_counts_and_ends_where_it_ends(tmp_path: Path, method: int) -> None:
    members = (("d/", b""), ("__MACOSX/._a.csv", b"shadow,x\n1,2\n"), ("a.csv", b"a,b"), ("b.csv", b"c,d\n1,2\n"))
    assert read_header(packed(tmp_path, archive(*members, method=method), "zip"), Storage()) == ("a", "b")


def test_another_way_of_packing_is_named(tmp_path: Path) -> None:
    content = archive(("a.csv", b"a,b\n1,2\n"), method=zipfile.ZIP_BZIP2)
    with pytest.raises(SourceError, match="packed by ZIP method 12, which is unknown"):
        read_header(packed(tmp_path, content, "zip"), Storage())


@pytest.mark.parametrize("compression", ["none", "gzip", "zip"])
@pytest.mark.parametrize("before", range(64 * 1024 - 6, 64 * 1024 + 4))
def test_a_letter_of_several_bytes_at_the_end_of_the_first_read(
    tmp_path: Path, before: int, compression: Compression
) -> None:
    name = "x" * (before - 2) + "中"
    text = f"a,{name}\n1,2\n3,4\n".encode()
    content = {"none": text, "gzip": gzip.compress(text, 0), "zip": archive(("a.csv", text), method=0)}[compression]
    assert read_header(packed(tmp_path, content, compression), Storage()) == ("a", name)


def test_a_payer_is_the_first_of_its_columns_that_has_a_value(tmp_path: Path) -> None:
    text = b"BillingAccountId,bill_payer_account_id,x\n1,,3\n"
    assert read_payer(packed(tmp_path, text, "none"), Storage()) == "1"
    assert read_payer(packed(tmp_path, b"x,y\n1,2\n", "none"), Storage()) is None
    assert read_payer(packed(tmp_path, b"BillingAccountId,y\n", "none"), Storage()) is None
