"""Blocks are cut where Python's csv ends a record, wherever the reads of the stream happen to end."""

import csv
import io
from itertools import dropwhile
from unittest.mock import patch

import pytest
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

from lakebed.errors import HeaderError, SourceError
from lakebed.kernels import blocks
from lakebed.kernels.blocks import Block, BlockReader, CsvRecord, Misaligned, records
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.model import Dialect

# What decides where a record ends, in any order: quotes that open, close, are doubled, or are letters.
PIECES = ["a", "b", ",", '"', '""', "\n", "\r\n", '",', ',"', '"\n', "\n\n", "é", '5" ', '"x\ny"', '"x ""y"" \r\n z"']
raw_texts = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
values = st.lists(st.sampled_from(["a", ",", '"', "\n", "\r\n", "é", " ", ""]), max_size=5).map("".join)
block_sizes = st.integers(1, 9) | st.just(8 << 20)


def is_whole(text: str) -> bool:
    """Whether a new record begins behind this text: Python's csv then reads what follows as one."""
    *_, last = csv.reader(io.StringIO(text + "next\n", newline=""))
    return last == ["next"]


def last_end(text: str) -> int:
    """Behind the last newline, in bytes, after which Python's csv begins a new record."""
    ends = [at + 1 for at, letter in enumerate(text) if letter == "\n" and is_whole(text[: at + 1])]
    return len(text[: ends[-1]].encode()) if ends else 0


def csv_records(text: str) -> list[CsvRecord]:
    """The records of Python's csv, with the line on which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""))
    found, line = [], 1
    for fields in reader:
        found.append(CsvRecord(line, fields))
        line = reader.line_num + 1
    return found


def cut(
    text: str, *, exact: bool, block_bytes: int, limits: Limits = DEFAULT_LIMITS
) -> tuple[list[str] | None, list[Block]]:
    """The header and the blocks; a file that holds nothing but line ends, which is refused, has none."""
    with patch.object(blocks, "BLOCK_BYTES", block_bytes):
        if not text.strip("\r\n"):
            with pytest.raises(HeaderError, match="the file is empty"):
                BlockReader(io.BytesIO(text.encode()), key="f.csv", exact=exact, limits=limits)
            return None, []
        reader = BlockReader(io.BytesIO(text.encode()), key="f.csv", exact=exact, limits=limits)
        return reader.header, list(reader)


def require_same_records(text: str, header: list[str] | None, cuts: list[Block]) -> None:
    """The header is the first line that is not empty; behind it, an empty line is a record without fields."""
    expected = list(dropwhile(lambda record: not record.fields, csv_records(text)))
    assert header == (expected[0].fields if expected else None)
    assert [record for block in cuts for record in records(block)] == expected[1:]


def written(rows: list[list[str]], line_end: str, quoting: int) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=line_end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return buffer.getvalue()


@given(raw_texts, block_sizes)
@settings(max_examples=500)
@example("\n\r\n\na,b\n1,2\n", 1)  # empty lines before the header, over several reads
@example('5" pipe,b\n1,2\n3,4\n', 4)  # a quote in the header that is a letter
@example('a"b\n"c\nd"\n', 2)  # the quotes come in pairs, but not these two
def test_the_exact_cutter_ends_records_where_csv_does(text: str, block_bytes: int) -> None:
    assume(is_whole(text if text.endswith("\n") or not text else text + "\n"))
    header, cuts = cut(text, exact=True, block_bytes=block_bytes)
    event("several blocks" if len(cuts) > 1 else "one block at most")
    require_same_records(text, header, cuts)


@given(
    st.lists(st.lists(values, max_size=3), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    block_sizes,
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=500)
def test_both_cutters_end_the_records_of_a_well_written_file_where_csv_does(
    rows: list[list[str]], line_end: str, quoting: int, block_bytes: int, exact: bool, ends_with_newline: bool
) -> None:
    text = written(rows, line_end, quoting)
    if not ends_with_newline:
        text = text.removesuffix(line_end)
    header, cuts = cut(text, exact=exact, block_bytes=block_bytes)
    event("several blocks" if len(cuts) > 1 else "one block at most")
    require_same_records(text, header, cuts)


@given(raw_texts, block_sizes, st.booleans(), st.sampled_from([(";", "'"), ("|", '"'), ("\t", "^"), ("]", "\\")]))
@settings(max_examples=500)
def test_other_marks_cut_as_commas_and_quotes_do(
    text: str, block_bytes: int, exact: bool, marks: tuple[str, str]
) -> None:
    """A file with other marks is the same file in another alphabet."""
    assume(text.strip("\r\n"))
    delimiter, quote = marks
    # What marks a file in one dialect is a letter in the other.
    table = str.maketrans({",": delimiter, '"': quote, delimiter: ",", quote: '"'})
    found = []
    for given_text, dialect in ((text, blocks.COMMAS), (text.translate(table), Dialect(delimiter, quote))):
        with patch.object(blocks, "BLOCK_BYTES", block_bytes):
            try:
                reader = BlockReader(io.BytesIO(given_text.encode()), key="f", exact=exact, dialect=dialect)
                cuts = list(reader)
            except (Misaligned, HeaderError, SourceError) as error:
                found.append(type(error).__name__)
                continue
        rows = [[record.line, *record.fields] for block in cuts for record in records(block, dialect)]
        plain = [reader.header, rows]
        found.append(str(plain) if dialect is blocks.COMMAS else str(_translated(plain, table)))
    assert found[0] == found[1]


def _translated(value: object, table: dict[int, str]) -> object:
    if isinstance(value, list):
        return [_translated(one, table) for one in value]
    return value.translate(table) if isinstance(value, str) else value


@given(raw_texts)
@settings(max_examples=500)
def test_a_block_holds_every_record_that_is_surely_whole(text: str) -> None:
    assert blocks.Marks(blocks.COMMAS).exact_end(text.encode(), last=False) == last_end(text)


@given(
    st.lists(st.lists(values, max_size=3), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n"]),
    st.data(),
)
@settings(max_examples=500)
def test_a_pair_of_quotes_is_enough_in_any_part_of_a_well_written_file(
    rows: list[list[str]], line_end: str, data: st.DataObject
) -> None:
    text = written(rows, line_end, csv.QUOTE_MINIMAL)
    part = text[: data.draw(st.integers(0, len(text)))]
    assert blocks.Marks(blocks.COMMAS).paired_end(part.encode()) == last_end(part)


@given(raw_texts, st.sampled_from(['"', '\n"', ',"x\ny', '\na,"\n']), block_sizes)
@example('1\n2,"3\n4', "", 3)
def test_a_file_that_ends_inside_quotes_is_refused_with_the_line_of_the_record(
    text: str, opening: str, block_bytes: int
) -> None:
    whole = f"header\n{text}{opening}"
    expected = csv_records(whole)
    assume(not is_whole(whole + "\n"))
    with pytest.raises(SourceError, match=rf"f\.csv, line {expected[-1].line}: the file ends inside a quoted value"):
        cut(whole, exact=True, block_bytes=block_bytes)
    if whole.count('"') % 2:
        with pytest.raises(Misaligned):
            cut(whole, exact=False, block_bytes=block_bytes)


def test_lines_before_the_header_count() -> None:
    _, (block,) = cut("\n\r\na,b\n1,2\n", exact=False, block_bytes=64)
    assert block == Block(b"1,2\n", 4)


SMALL = Limits(header_bytes=50, line_bytes=50)


@pytest.mark.parametrize("text", ['a,b\n1,"' + "x" * 99, "a,b\n" + "x" * 99])
def test_a_record_without_an_end_is_refused_before_it_fills_the_memory(text: str) -> None:
    with pytest.raises(SourceError, match=r"f\.csv, line 2: no record ends within"):
        cut(text + "\n", exact=True, block_bytes=10, limits=SMALL)
    with pytest.raises(Misaligned):
        cut(text + "\n", exact=False, block_bytes=10, limits=SMALL)
    short = "a,b\n" + "1,2\n" * 50
    require_same_records(short, *cut(short, exact=True, block_bytes=10, limits=SMALL))


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("text", ["a" * 99, '"' + "a\n" * 50])
def test_a_header_without_an_end_is_refused(text: str, exact: bool) -> None:
    with pytest.raises(HeaderError, match="the header does not end"):
        cut(text + "\n", exact=exact, block_bytes=10, limits=SMALL)
