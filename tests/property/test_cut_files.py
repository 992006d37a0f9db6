"""A file that several tasks read is the file that one task reads: rows, sums, refusals and their lines."""

import csv
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.engines.arrow.load import ArrowEngine
from lakebed.engines.protocols.load import ConvertJob
from lakebed.engines.shared import packs
from lakebed.errors import BadValue, LakebedError
from lakebed.kernels import blocks
from lakebed.kernels.cut import cut
from lakebed.kernels.limits import DEFAULT_LIMITS
from lakebed.model import Dialect, SourceFile, Staging
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


def convert(
    folder: Path, data: bytes, name: str, *, parts: bool, dialect: Dialect | None = None
) -> tuple[pa.Table, object]:
    path = folder / f"{name}.csv"
    path.write_bytes(data)
    job = ConvertJob(
        files=(SourceFile(str(path), "big.csv", "csv", "none", len(data)),),
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


def test_only_plain_utf8_csv_is_cut() -> None:
    large = 3 * packs.PART_BYTES
    files = [
        SourceFile("a", "a", "csv", "none", large),
        SourceFile("b", "b", "csv", "gzip", large),
        SourceFile("c", "c", "parquet", "none", large),
        SourceFile("d", "d", "csv", "none", packs.PART_BYTES),
        SourceFile("e", "e", "csv", "none", large, dialect=Dialect(encoding="utf-16")),
        SourceFile("f", "f", "csv", "none", large, dialect=Dialect(";")),
    ]
    assert packs.large_files(files) == [0, 5]
