"""Bombs and endless files: refused by name, with the setting to change, in memory that does not grow with them."""

import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.steps import count_steps

import lakebed
from lakebed.config import load_settings
from lakebed.errors import ConfigError, SourceError
from lakebed.kernels.blocks import BlockReader
from lakebed.kernels.limits import Limits, json_depth
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import corruption_as_source_error, open_streams
from lakebed.model import Compression, SourceFile
from lakebed.source.discover import find_deliveries
from lakebed.source.header import read_header, read_payer
from lakebed.storage import Storage

MEGABYTE = 1 << 20


def source_file(tmp_path: Path, content: bytes, compression: Compression = "none") -> SourceFile:
    path = tmp_path / "bill.csv"
    path.write_bytes(content)
    return SourceFile(str(path), path.name, "csv", compression, len(content))


def zipped(content: bytes, name: str = "bill.csv", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.writestr(name, content)
    return packed.getvalue()


def peak_bytes(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("compression", "pack"), [("gzip", gzip.compress), ("zip", zipped)])
@pytest.mark.parametrize("letter", [b"a", b'"', b" "])
def test_a_bomb_without_a_newline_is_refused_in_little_memory(
    tmp_path: Path, compression: Compression, pack: Callable[[bytes], bytes], letter: bytes
) -> None:
    file = source_file(tmp_path, pack(letter * (100 * MEGABYTE)), compression)
    assert file.size_bytes < MEGABYTE

    def refused() -> None:
        for act in (read_header, read_payer):
            with pytest.raises(SourceError, match=r"bill\.csv, line 1: .*header(.|\n)*header_bytes under \[limits\]"):
                act(file, Storage())

    assert peak_bytes(refused) < 150 * MEGABYTE


def test_a_first_line_that_never_ends_is_refused(tmp_path: Path) -> None:
    file = source_file(tmp_path, gzip.compress(b"a,b\n" + b"x" * (4 * MEGABYTE)), "gzip")
    limits = Limits(header_bytes=1000, line_bytes=MEGABYTE)
    with pytest.raises(SourceError, match=r"first line after the header(.|\n)*LAKEBED_LIMITS_LINE_BYTES"):
        read_header(file, Storage(), limits)
    assert read_payer(source_file(tmp_path, b"a,b\n1,2\n"), Storage(), limits) is None


def test_headers_up_to_the_limit_are_read(tmp_path: Path) -> None:
    names = tuple(f"resourceTags/user:{'t' * 120}{number}" for number in range(9_000))
    header = ",".join(names).encode() + b"\n"
    for content in (
        header,
        header + b"," * (len(names) - 1) + b"\n",
        header + b'"' + b"x" * 200_000 + b'"' + b"," * 8999,
    ):
        assert read_header(source_file(tmp_path, gzip.compress(content), "gzip"), Storage()) == names
        assert BlockReader(io.BytesIO(content), key="k", exact=False).header == list(names)


@pytest.mark.parametrize("exact", [False, True])
def test_workers_refuse_a_header_that_is_too_long(exact: bool) -> None:
    limits = Limits(header_bytes=100)
    for content in (b"x" * 101, b"x" * 101 + b"\n1\n", b'"' + b"\n" * 101, b"\n" * 500 + b"x" * 101):
        with pytest.raises(SourceError, match=r"k, line \d+: the header(.|\n)*header_bytes"):
            BlockReader(io.BytesIO(content), key="k", exact=exact, limits=limits)
    assert BlockReader(io.BytesIO(b"\n" * 500 + b"x" * 99 + b"\n"), key="k", exact=exact, limits=limits).header


def test_workers_refuse_a_record_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.kernels.blocks.BLOCK_BYTES", 64)
    reader = BlockReader(io.BytesIO(b"a,b\n1,2\n" + b"x" * 999), key="k", exact=True, limits=Limits(line_bytes=200))
    with pytest.raises(SourceError, match=r"k, line 3: no record ends within 200 bytes(.|\n)*line_bytes"):
        list(reader)


def test_a_header_of_empty_lines_and_open_quotes_takes_steps_in_proportion() -> None:
    """Neither may be read again for each of its lines."""

    def steps(filler: bytes, size: int) -> int:
        content = io.BytesIO(filler * size + b"a,b\n")
        return count_steps(lambda: BlockReader(content, key="k", exact=False))

    for filler in (b"\n", b"\r\n", b'"\n"\n'):
        assert steps(filler, 8_000) <= 9 * steps(filler, 1_000)


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    limits = Limits(columns=3)
    file = source_file(tmp_path, b"a,b,c,d\n")
    with pytest.raises(SourceError, match=r"bill\.csv: it has 4 columns(.|\n)*LAKEBED_LIMITS_COLUMNS"):
        read_header(file, Storage(), limits)
    with pytest.raises(SourceError, match="k: it has 4 columns"):
        BlockReader(io.BytesIO(b"a,b,c,d\n"), key="k", exact=False, limits=limits)
    assert read_header(source_file(tmp_path, b"a,b,c\n"), Storage(), limits) == ("a", "b", "c")


def drain(file: SourceFile, limits: Limits) -> int:
    size = 0
    with corruption_as_source_error(file):
        for stream in open_streams(file, StorageSettings(), limits):
            while block := stream.read(MEGABYTE):
                size += len(block)
    return size


@pytest.mark.parametrize(("compression", "pack"), [("gzip", gzip.compress), ("zip", zipped)])
def test_what_unpacks_to_too_much_is_refused(
    tmp_path: Path, compression: Compression, pack: Callable[[bytes], bytes]
) -> None:
    file = source_file(tmp_path, pack(b"a\n" * (40 * MEGABYTE)), compression)
    with pytest.raises(SourceError, match=r"bill\.csv: its \d+ bytes unpack to more than 500 times(.|\n)*packed_ratio"):
        drain(file, Limits())
    with pytest.raises(SourceError, match=r"bill\.csv: it unpacks to more than 1000 bytes(.|\n)*unpacked_bytes"):
        drain(file, Limits(unpacked_bytes=1000))
    assert drain(file, Limits(packed_ratio=2000)) == 80 * MEGABYTE


def test_members_of_an_archive_are_counted_together(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(10):
            archive.writestr(f"{number}.csv", b"a\n" * 100)
    with pytest.raises(SourceError, match="unpacks to more than 1999 bytes"):
        drain(source_file(tmp_path, packed.getvalue(), "zip"), Limits(unpacked_bytes=1999))


def test_members_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"bill\.csv: x in it is packed by ZIP method 14"):
        drain(source_file(tmp_path, zipped(b"a\n", "x", zipfile.ZIP_LZMA), "zip"), Limits())
    content = bytearray(zipped(b"a\n", "x"))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(mark) + offset] |= 1
    with pytest.raises(SourceError, match=r"bill\.csv: x in it is encrypted"):
        drain(source_file(tmp_path, bytes(content), "zip"), Limits())


def test_a_member_without_a_name_is_read(tmp_path: Path) -> None:
    content = bytearray(zipped(b"a\n", "x"))
    # The directory at the end gives its name no length and takes the letter for an extra field of one byte.
    at = content.index(b"PK\x01\x02")
    content[at + 28], content[at + 32] = 0, 1
    content[content.index(b"PK\x03\x04") + 26] = 0
    content[content.index(b"PK\x03\x04") + 28] = 1
    assert drain(source_file(tmp_path, bytes(content), "zip"), Limits()) == 2


def manifest(**more: object) -> dict[str, object]:
    return {
        "assemblyId": "20261003T000000Z",
        "reportName": "costs",
        "reportKeys": ["costs/20261001-20261101/costs-1.csv.gz"],
        "billingPeriod": {"start": "20261001T000000.000Z"},
        **more,
    }


@pytest.mark.parametrize(
    ("content", "limits", "reason"),
    [
        (json.dumps(manifest(pad="x" * 1000)), Limits(manifest_bytes=1000), "manifest_bytes"),
        (json.dumps(manifest(columns=[{"name": str(n)} for n in range(9)])), Limits(columns=8), "columns"),
        (json.dumps(manifest())[:-1] + ', "a":' + "[" * 101 + "]" * 101 + "}", Limits(), "json_depth"),
        ("[" * 1_000_000, Limits(), "json_depth"),
        ('{"a":' * 1_000_000, Limits(), "json_depth"),
    ],
)
def test_a_manifest_beyond_a_limit_is_left_out_by_name(
    tmp_path: Path, content: str, limits: Limits, reason: str
) -> None:
    (tmp_path / "costs-Manifest.json").write_text(content)
    report = find_deliveries(str(tmp_path), Storage(), limits=limits)
    [skipped] = report.skipped
    assert skipped.uri.endswith("costs-Manifest.json")
    assert f"{reason} under [limits]" in skipped.reason


def test_depth_is_of_brackets_outside_text() -> None:
    assert [json_depth(text) for text in ("", "1", "[]", '{"a": [1, {"b": []}]}', '["[[[[", "\\"[[["]', '["[')] == [
        0,
        0,
        1,
        4,
        1,
        1,
    ]


def test_limits_are_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lakebed.toml").write_text("[limits]\nheader_bytes = 10\n")
    monkeypatch.setenv("LAKEBED_LIMITS_COLUMNS", "7")
    assert load_settings({"json_depth": 5}).limits == Limits(header_bytes=10, columns=7, json_depth=5)
    for wrong in ("0", "-1", "many"):
        monkeypatch.setenv("LAKEBED_LIMITS_COLUMNS", wrong)
        with pytest.raises(ConfigError, match=r"LAKEBED_LIMITS_COLUMNS|columns is"):
            load_settings()
    monkeypatch.delenv("LAKEBED_LIMITS_COLUMNS")
    (tmp_path / "bill.csv").write_text("lineItem/UsageAccountId,b\n1,2\n")
    with pytest.raises(SourceError, match=r"bill\.csv, line 1: .*header"):
        lakebed.plan("bill.csv", "parquet:t", report="costs", period="2026-10", line_bytes=1)
