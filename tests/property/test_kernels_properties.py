"""Whatever the text, reading it keeps every value and every digit."""

import csv
import io
import tempfile
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from lakebed.errors import BadValue, SourceError
from lakebed.kernels import blocks
from lakebed.kernels.convert import Conversion, convert
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.values import EXACT as CONTEXT
from lakebed.model import Converted, SourceFile, Staging

EXACT = pa.decimal128(38, 18)


def load(data: bytes, schema: pa.Schema, *, block_bytes: int = 8 << 20) -> tuple[Converted, pa.Table]:
    with tempfile.TemporaryDirectory() as name, patch.object(blocks, "BLOCK_BYTES", block_bytes):
        folder = Path(name)
        (folder / "in.csv").write_bytes(data)
        staging = Staging("test", str(folder / "out"), schema)
        columns = tuple((column, column) for column in schema.names)
        conversion = Conversion(staging=staging, storage=StorageSettings(), columns=columns, constants={}, partition={})
        facts = convert(conversion, SourceFile(str(folder / "in.csv"), "in.csv", "csv", "none", len(data)), "0")
        tables = [pq.read_table(folder / "out" / output.path) for output in facts.files]
        return facts, pa.concat_tables(tables) if tables else schema.empty_table()


@st.composite
def numbers(draw: st.DrawFn) -> str:
    """A number in any notation that a CSV may hold, whether or not it fits."""
    whole = draw(st.text("0123456789", max_size=24))
    decimals = draw(st.text("0123456789", max_size=24))
    point = "." if decimals or draw(st.booleans()) else ""
    if not whole and not decimals:
        whole = "0"
    exponent = draw(st.one_of(st.just(""), st.integers(-30, 30).map(lambda n: f"{draw(st.sampled_from('eE'))}{n:+d}")))
    return draw(st.sampled_from(["", "-", "+"])) + whole + point + decimals + exponent


def fits(number: Decimal) -> bool:
    scaled = number.scaleb(18, CONTEXT)
    return scaled == scaled.to_integral_value() and abs(scaled) < 10**38


@given(st.lists(numbers(), min_size=1, max_size=8))
@settings(max_examples=300)
def test_numbers_are_exact_or_refused(texts: list[str]) -> None:
    schema = pa.schema([("cost", EXACT), ("n", pa.string())])
    data = "cost,n\n" + "".join(f"{text},{n}\n" for n, text in enumerate(texts))
    expected = [Decimal(text) for text in texts]
    unfit = [n for n, number in enumerate(expected) if not fits(number)]
    if not unfit:
        facts, table = load(data.encode(), schema)
        assert table.column("cost").to_pylist() == expected
        total = Decimal(0)
        for number in expected:
            total = CONTEXT.add(total, number)
        assert facts.source.sums["cost"] == total
        return
    with pytest.raises(BadValue) as refused:
        load(data.encode(), schema)
    assert (refused.value.line, refused.value.value) == (unfit[0] + 2, texts[unfit[0]])


# Everything but what CSV cannot carry: NUL, and lone carriage returns, which are line ends to every reader.
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12) | st.sampled_from(
    ['"', '""', "\n", ",", "a\nb", 'x"y', "\n\n", " ", "NULL", "é", "\u2028", "x" * 60]
)


@given(
    rows=st.lists(st.tuples(texts, texts, texts), max_size=12),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block_bytes=st.integers(1, 64),
    bom=st.booleans(),
)
@settings(max_examples=300)
def test_text_comes_back_as_it_was_written(
    rows: list[tuple[str, str, str]], line_end: str, quoting: int, block_bytes: int, bom: bool
) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=line_end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow(("a", 'b "quoted"', "c\nd"))
    writer.writerows(rows)
    data = buffer.getvalue().encode("utf-8-sig" if bom else "utf-8")
    schema = pa.schema([("a", pa.string()), ('b "quoted"', pa.string()), ("c\nd", pa.string())])
    facts, table = load(data, schema, block_bytes=block_bytes)
    assert facts.source.rows == len(rows)
    columns = [column.to_pylist() for column in table.columns]
    assert list(zip(*columns, strict=True)) == [tuple(value or None for value in row) for row in rows]


# Quotes that open, close or are letters, line ends inside and outside of them, and empty lines.
pieces = st.sampled_from(["a", "b", ",", '"', '""', "\n", "\r\n", '",', ',"', '"\n', "\n\n", '5" ', '"x\ny"', "é"])


@given(st.lists(pieces, max_size=16).map("".join), st.integers(1, 9), st.integers(1, 2))
@settings(max_examples=500)
@example("1\n\n2\n\n", 1, 1)
@example("1\n\n2\n\n", 64, 1)
@example('a"b\n"c\nd"\n', 1, 1)
def test_any_text_is_read_as_python_reads_it_wherever_blocks_end(text: str, block_bytes: int, width: int) -> None:
    schema = pa.schema([(name, pa.string()) for name in "ab"[:width]])
    data = ",".join(schema.names) + "\n" + text
    _, *expected = csv.reader(io.StringIO(data, newline=""))
    if width == 1:
        expected = [fields or [""] for fields in expected]  # an empty line is a row of NULL
    whole = list(csv.reader(io.StringIO(data + "\nend", newline="")))[-1] == ["end"]
    if not whole or any(len(fields) not in (0, width) for fields in expected):
        event("refused")
        with pytest.raises(SourceError):
            load(data.encode(), schema, block_bytes=block_bytes)
        return
    event("read")
    facts, table = load(data.encode(), schema, block_bytes=block_bytes)
    rows = [tuple(value or None for value in fields) for fields in expected if fields]
    assert (facts.source.rows, list(zip(*(column.to_pylist() for column in table.columns), strict=True))) == (
        len(rows),
        rows,
    )
