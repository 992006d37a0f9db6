"""A file that several tasks read is the file that one task reads: rows, sums, refusals and their lines."""

import csv
import io
import re
import struct
import zipfile
import zlib
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob
from lakebed.engines.shared import packs
from lakebed.errors import BadValue, Changed, LakebedError
from lakebed.kernels import blocks
from lakebed.kernels.cut import CutTasks, cut
from lakebed.kernels.limits import DEFAULT_LIMITS
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.streams import open_streams
from lakebed.model import ArchivePart, Compression, Dialect, FilePart, GzipMember, SourceFile, Staging
from lakebed.schema.types import Column, Schema, Text

SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string()), ("cost", pa.decimal128(38, 18))])
COLUMNS = Schema.of(Column(name, Text(), original=name) for name in SCHEMA.names)
TEXTS = st.text(st.sampled_from('ab,;"\n\r\t é'), max_size=12)
# Python's writer leaves a lone carriage return without quotes, where it ends a line for some readers.
LINES = TEXTS.map(lambda text: text.replace("\r", ""))
ROWS = st.tuples(st.integers(0, 99999).map(str), LINES, st.sampled_from(["1.5", "-0.25", "", "1e3"]))


def written(rows: list[tuple[str, str, str]], *, mark: bool = False, end: str = "\n") -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(SCHEMA.names)
    writer.writerows(rows)
    return (b"\xef\xbb\xbf" if mark else b"") + text.getvalue().encode()


def member(text: bytes, *, level: int = 6, extra: bytes | None = None) -> bytes:
    """A gzip member, written by hand: with a field that may hold anything, as bgzip has one."""
    flags, field = (0, b"") if extra is None else (4, struct.pack("<H", len(extra)) + extra)
    packed = zlib.compressobj(level, wbits=-15)
    begin = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, 0, 0, 255) + field
    end = struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)
    return begin + packed.compress(text) + packed.flush() + end


def archive(*texts: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for number, text in enumerate(texts):
            opened.writestr(f"part-{number}.csv", text)
            opened.writestr(f"part-{number}.txt", "this is no data")
    return buffer.getvalue()


def convert(
    folder: Path, data: bytes, name: str, *, parts: bool, compression: Compression = "none"
) -> tuple[pa.Table, object]:
    path = folder / f"{name}.csv"
    path.write_bytes(data)
    job = ConvertJob(
        files=(SourceFile(str(path), "big.csv", "csv", compression, len(data)),),
        columns=COLUMNS,
        constants={},
        staging=Staging(name, str(folder / name), SCHEMA),
        partition={},
    )
    patch = pytest.MonkeyPatch()
    with patch.context() as small:
        small.setattr(blocks, "BLOCK_BYTES", 40)
        small.setattr(packs, "PART_BYTES", 60 if parts else 1 << 40)
        converted = ArrowEngine().convert(job)
    found = pads.dataset([str(folder / name / file.path) for file in converted.files], schema=SCHEMA).to_table()
    return found.sort_by([(column, "ascending") for column in SCHEMA.names]), converted.source


@settings(max_examples=60)
@given(
    st.lists(ROWS, max_size=60),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_rows_and_sums_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]], mark: bool, end: str
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    data = written(rows, mark=mark, end=end)
    whole, of_whole = convert(folder, data, "whole", parts=False)
    apart, of_apart = convert(folder, data, "apart", parts=True)
    assert apart.equals(whole)
    assert of_apart == of_whole
    assert apart.num_rows == len(rows)


@settings(max_examples=60)
@given(st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=60), st.integers(20, 200))
def test_parts_are_all_of_the_file_and_begin_where_records_do(rows: list[tuple[str, str, str]], size: int) -> None:
    data = written(rows)
    patch = pytest.MonkeyPatch()
    with patch.context() as small:
        small.setattr(blocks, "BLOCK_BYTES", 32)
        try:
            parts = cut(io.BytesIO(data), "big.csv", Dialect(), DEFAULT_LIMITS, size)
        except blocks.Misaligned:
            return
    assert [parts[0].start, *(part.end for part in parts)] == [0, *(part.start for part in parts[1:]), len(data)]
    records = []
    for part in parts:
        text = data[max(part.start, part.header) : part.end].decode()
        records += list(csv.reader(io.StringIO(text, newline="")))
        if part.start:
            assert part.line == 1 + data[: part.start].count(b"\n")
    assert [tuple(one) for one in records if one] == [one for one in rows if any(one) or len(one) > 1]


def test_a_bad_value_is_refused_with_its_own_line(tmp_path: Path) -> None:
    rows = [(str(number), 'a "b"\nc', "1.5") for number in range(40)]
    data = written([*rows, ("x", "y", "no number"), *rows])
    with pytest.raises(BadValue) as whole:
        convert(tmp_path, data, "whole", parts=False)
    with pytest.raises(BadValue) as apart:
        convert(tmp_path, data, "apart", parts=True)
    assert apart.value.line == whole.value.line == 2 + 40 * 2
    assert str(apart.value) == str(whole.value)


@pytest.mark.parametrize("data", [b'id,text,cost\n1,5" pipe,1\n' + b"2,b,1\n" * 40, b'id,text,cost\n1,"open,1\n' * 30])
def test_what_only_a_full_scan_understands_is_read_by_one_task(tmp_path: Path, data: bytes) -> None:
    def outcome(name: str, *, parts: bool) -> object:
        try:
            return convert(tmp_path, data, name, parts=parts)[0].to_pylist()
        except LakebedError as error:
            # Of several bad values, the one that is found first.
            return re.sub(r"line \d+", "line", str(error))

    assert outcome("apart", parts=True) == outcome("whole", parts=False)


@settings(max_examples=80)
@given(
    st.lists(ROWS, max_size=60),
    st.lists(st.tuples(st.integers(0, 3000), st.sampled_from([0, 1, 9]), st.booleans()), max_size=12),
    st.booleans(),
    st.sampled_from([b"", b"\0" * 700]),
)
def test_members_of_gzip_are_read_apart_wherever_they_end(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, str]],
    members: list[tuple[int, int, bool]],
    mark: bool,
    padding: bytes,
) -> None:
    """In quotes, in the header, behind nothing; with a whole member of other rows in a field that is no data."""
    folder = tmp_path_factory.mktemp("members")
    text = written(rows, mark=mark)
    decoy = member(written([("7", "decoy", "7")]))
    ends = sorted(min(end, len(text)) for end, _, _ in members)
    data = padding.join(
        member(text[start:end], level=level, extra=decoy if hides else None)
        for (start, end), (_, level, hides) in zip(
            pairwise([0, *ends, len(text)]), [*members, (0, 6, True)], strict=True
        )
    )
    whole, of_whole = convert(folder, data, "whole", parts=False, compression="gzip")
    apart, of_apart = convert(folder, data, "apart", parts=True, compression="gzip")
    assert apart.equals(whole)
    assert of_apart == of_whole
    assert apart.num_rows == len(rows)


def gzip_parts(folder: Path, data: bytes, part_bytes: int = 60) -> tuple[object, ...]:
    path = folder / "big.csv.gz"
    path.write_bytes(data)
    source = SourceFile(str(path), "big.csv.gz", "csv", "gzip", len(data))
    patch = pytest.MonkeyPatch()
    with patch.context() as small:
        small.setattr(blocks, "BLOCK_BYTES", 40)
        return CutTasks((source,), StorageSettings(), DEFAULT_LIMITS, part_bytes)(0)


def test_each_part_of_a_gzip_file_is_unpacked_from_a_member_of_its_own(tmp_path: Path) -> None:
    text = written([(str(number), 'a "b"\nc', "1.5") for number in range(200)])
    blocks_ = [text[start : start + 100] for start in range(0, len(text), 100)]
    data = b"".join(map(member, blocks_))
    found = gzip_parts(tmp_path, data)
    parts = [part for part in found if isinstance(part, FilePart)]
    assert len(parts) == len(found) > 10
    assert [part.end for part in parts[:-1]] == [part.start for part in parts[1:]]
    assert parts[-1].end == len(text)
    for part in parts[1:]:
        assert part.member is not None
        assert data[part.member.packed_at :].startswith(b"\x1f\x8b\x08")
        assert part.member.text_at % 100 == 0
        assert 0 <= part.start - part.member.text_at < 100
    bad = written([("1", 'a "b"\nc', "1.5")] * 60 + [("1", "x", "no number")])
    packed = b"".join(member(bad[start : start + 90]) for start in range(0, len(bad), 90))
    with pytest.raises(BadValue) as apart:
        convert(tmp_path, packed, "apart", parts=True, compression="gzip")
    assert apart.value.line == 2 + 60 * 2


@pytest.mark.parametrize(
    "data",
    [
        member(written([("1", "a", "1")] * 500)),
        member(written([("1", "a", "1")] * 500), extra=member(b"no text of the file")),
        member(written([("1", "a", "1")] * 500)) + member(b"2,b,2\n")[:-3],
        member(written([("1", "a", "1")] * 500)) + member(b"2,b,2\n" * 500)[:-8] + b"\1" * 8,
        member(written([("1", "a", "1")] * 500)) + b"no member",
        b"no gzip at all" + member(b""),
    ],
    ids=["one member", "one with another inside", "cut short", "another checksum", "other bytes behind", "no gzip"],
)
def test_what_is_not_surely_several_members_is_read_by_one_task(tmp_path: Path, data: bytes) -> None:
    assert len(gzip_parts(tmp_path, data)) < 2


@settings(max_examples=30)
@given(st.lists(st.lists(ROWS, max_size=8), min_size=1, max_size=12))
def test_the_files_in_a_zip_are_read_apart(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[tuple[str, str, str]]]
) -> None:
    folder = tmp_path_factory.mktemp("zip")
    data = archive(*map(written, files))
    whole, of_whole = convert(folder, data, "whole", parts=False, compression="zip")
    apart, of_apart = convert(folder, data, "apart", parts=True, compression="zip")
    assert apart.equals(whole)
    assert of_apart == of_whole
    assert apart.num_rows == sum(map(len, files))


def test_files_in_a_zip_share_tasks_where_they_are_small_and_a_bomb_is_refused_by_one(tmp_path: Path) -> None:
    path = tmp_path / "big.zip"
    path.write_bytes(archive(*[b"id,text,cost\n1,2,3\n"] * 10))
    source = SourceFile(str(path), "big.zip", "csv", "zip", path.stat().st_size)
    parts = CutTasks((source,), StorageSettings(), DEFAULT_LIMITS, 70)(0)
    assert [(part.first, part.stop) for part in parts if isinstance(part, ArchivePart)] == [(0, 4), (4, 8), (8, 10)]
    tight = replace(DEFAULT_LIMITS, unpacked_bytes=100)
    assert CutTasks((source,), StorageSettings(), tight, 70)(0) == ()


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_file_that_became_shorter_since_it_was_cut_is_not_taken_for_whole(
    tmp_path: Path, compression: Compression
) -> None:
    text = written([("1", "a", "1")] * 10)
    path = tmp_path / "big.csv"
    path.write_bytes(text[:-6] if compression == "none" else member(text[:-6]))
    place = None if compression == "none" else GzipMember()
    source = SourceFile(str(path), "big.csv", "csv", compression, 99, part=FilePart(25, len(text), 13, 3, place))
    with closing(open_streams(source, StorageSettings())) as streams:
        read = next(streams).read
        with pytest.raises(Changed, match="written over"):
            list(iter(lambda: read(20), b""))


def test_only_csv_that_can_be_cut_is_looked_at() -> None:
    large = 3 * packs.PART_BYTES
    files = [
        SourceFile("a", "a", "csv", "none", large),
        SourceFile("b", "b", "csv", "gzip", large),
        SourceFile("c", "c", "parquet", "none", large),
        SourceFile("d", "d", "csv", "none", packs.PART_BYTES),
        SourceFile("e", "e", "csv", "none", large, dialect=Dialect(encoding="utf-16")),
        SourceFile("f", "f", "csv", "none", large, dialect=Dialect(";")),
        SourceFile("g", "g", "csv", "zip", large, dialect=Dialect(encoding="utf-16")),
        SourceFile("h", "h", "csv", "gzip", packs.PART_BYTES // 4),
        SourceFile("i", "i", "json", "gzip", large),
    ]
    assert packs.large_files(files) == [0, 1, 5, 6]
