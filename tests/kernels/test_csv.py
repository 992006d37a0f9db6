"""Reading CSV: what is read, what is refused, and where the message points."""

import gzip
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.conversions import EXACT, MOMENT, TAGS, TEXT, Packing, column, packed, run

from lakebed.errors import BadValue, HeaderError, SourceError, UnplannedColumns
from lakebed.kernels import blocks
from lakebed.kernels.header import match_header


@pytest.fixture
def tiny_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 16)


@pytest.mark.parametrize("compression", ["none", "gzip", "zip"])
def test_reads_every_packing(tmp_path: Path, compression: Packing) -> None:
    facts, table = run(tmp_path, "id,cost\n007,4.0E-7\n", [("id", TEXT), ("cost", EXACT)], compression=compression)
    assert facts.source.rows == 1
    assert column(table, "id") == ["007"]
    assert column(table, "cost") == [Decimal("0.0000004")]


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbfid,cost\r\na,1.5\r\n"b\r\nc",2\r\n'
    _, table = run(tmp_path, data, [("id", TEXT), ("cost", EXACT)])
    assert column(table, "id") == ["a", "b\r\nc"]
    assert column(table, "cost") == [Decimal("1.5"), Decimal(2)]


def test_an_empty_field_is_null_quoted_or_not_and_nothing_else_is(tmp_path: Path) -> None:
    data = 'text,cost,at\n,,\n"","",""\nNULL,0,2026-10-01T00:00:00Z\n nan ,1,2026-10-01T00:00:00Z\n'
    _, table = run(tmp_path, data, [("text", TEXT), ("cost", EXACT), ("at", MOMENT)])
    assert column(table, "text") == [None, None, "NULL", " nan "]
    assert column(table, "cost") == [None, None, Decimal(0), Decimal(1)]
    assert column(table, "at")[:2] == [None, None]


def test_the_word_null_is_text_in_text_and_a_counted_null_elsewhere(tmp_path: Path) -> None:
    data = 'text,cost,at\nNULL,NULL,2026-10-01T00:00:00Z\nx,1.5,NULL\ny,"NULL",\n'
    facts, table = run(tmp_path, data, [("text", TEXT), ("cost", EXACT), ("at", MOMENT)])
    assert column(table, "text") == ["NULL", "x", "y"]
    assert column(table, "cost") == [None, Decimal("1.5"), None]
    assert column(table, "at")[1:] == [None, None]
    assert [said.partition(": ")[2] for said in facts.warnings] == [
        "column cost: the word NULL stands for no value (2 rows)",
        "column at: the word NULL stands for no value (1 rows)",
    ]


def test_text_stays_as_it_stands(tmp_path: Path) -> None:
    tag = "x" * 250
    _, table = run(tmp_path, f"a,b\n000123,{tag}\n 1 ,\u00e4\u4e2d\n", [("a", TEXT), ("b", TEXT)])
    assert column(table, "a") == ["000123", " 1 "]
    assert column(table, "b") == [tag, "\u00e4\u4e2d"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4.0E-7", "0.0000004"),
        ("1E+3", "1000"),
        ("-.5", "-0.5"),
        ("+5.", "5"),
        ("0.000000000000000001", "0.000000000000000001"),
        ("1.0000000000000000000000", "1"),
        ("0." + "0" * 60, "0"),
        ("1e-18", "0.000000000000000001"),
        ("99999999999999999999.999999999999999999", "99999999999999999999.999999999999999999"),
        (" 1.5 ", "1.5"),
    ],
)
def test_decimals_are_exact_in_every_notation(tmp_path: Path, text: str, number: str) -> None:
    facts, table = run(tmp_path, f"cost,x\n{text},1\n", [("cost", EXACT), ("x", TEXT)])
    assert column(table, "cost") == [Decimal(number)]
    assert facts.source.sums["cost"] == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "abc",
        "1,5",
        "nan",
        "inf",
        "1E-19",
        "0.0000000000000000001",
        "100000000000000000000",
        "1E400",
        "1_0",
        "--1",
        "1e",
    ],
)
@pytest.mark.parametrize("bad_line", [2, 3, 4])
def test_a_bad_number_is_refused_with_its_place(tmp_path: Path, text: str, bad_line: int) -> None:
    rows = ['"a\nb",1', "c,2", "d,3"]
    rows[bad_line - 2] = f'"e\nf","{text}"'
    # The quoted line end in the first row shifts every later one by a line.
    line = bad_line if bad_line == 2 else bad_line + 1
    with pytest.raises(BadValue) as refused:
        run(tmp_path, "id,cost\n" + "\n".join(rows) + "\n", [("id", TEXT), ("cost", EXACT)])
    assert (refused.value.file, refused.value.line, refused.value.column, refused.value.value) == (
        "report-1.csv",
        line,
        "cost",
        text,
    )


def test_too_many_decimals_name_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="--decimals") as refused:
        run(tmp_path, "cost,x\n1E-19,\n", [("cost", EXACT), ("x", TEXT)])
    assert "18 decimals" in refused.value.expected
    _, table = run(tmp_path, "cost,x\n1E-19,\n", [("cost", pa.decimal128(38, 24)), ("x", TEXT)])
    assert column(table, "cost") == [Decimal("1E-19")]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-10-01T00:00:00Z", datetime(2026, 10, 1)),
        ("2026-10-01T00:00:00.000Z", datetime(2026, 10, 1)),
        ("2026-10-01T02:00:00+02:00", datetime(2026, 10, 1)),
        ("2026-10-01 05:06:07", datetime(2026, 10, 1, 5, 6, 7)),
        ("2026-10-01", datetime(2026, 10, 1)),
        ("2026-10-01T00:00:00.123456000Z", datetime(2026, 10, 1, 0, 0, 0, 123456)),
    ],
)
def test_times_are_utc_without_zone(tmp_path: Path, text: str, moment: datetime) -> None:
    other = "2026-10-02T00:00:00Z"
    _, table = run(tmp_path, f"at,x\n{text},1\n{other},2\n", [("at", MOMENT), ("x", TEXT)])
    assert column(table, "at") == [moment, datetime(2026, 10, 2)]
    assert table.schema.field("at").type == MOMENT


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "2026-10-01T00:00:00.1234567Z", "20261001"])
def test_a_bad_time_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadValue) as refused:
        run(tmp_path, f"at,x\n2026-10-01T00:00:00Z,1\n{text},1\n", [("at", MOMENT), ("x", TEXT)])
    assert (refused.value.line, refused.value.column, refused.value.value) == (3, "at", text)


def test_maps_come_from_json(tmp_path: Path) -> None:
    data = 'tags,x\n"{""env"": ""prod"", ""n"": 1.50, ""none"": null, ""deep"": {""a"": [true]}}",1\n{},2\n,3\n'
    _, table = run(tmp_path, data, [("tags", TAGS), ("x", TEXT)])
    assert column(table, "tags") == [
        [("env", "prod"), ("n", "1.50"), ("none", None), ("deep", '{"a": [true]}')],
        [],
        None,
    ]
    with pytest.raises(BadValue, match="a JSON object"):
        run(tmp_path, 'tags,x\n"[1]",1\n', [("tags", TAGS), ("x", TEXT)])


def test_other_types_are_read_too(tmp_path: Path) -> None:
    _, table = run(tmp_path, "n,ok\n12,true\n-3,false\n", [("n", pa.int64()), ("ok", pa.bool_())])
    assert column(table, "n") == [12, -3]
    assert column(table, "ok") == [True, False]
    with pytest.raises(BadValue, match="line 3, column n"):
        run(tmp_path, "n,ok\n12,true\n1.5,false\n", [("n", pa.int64()), ("ok", pa.bool_())])


def test_columns_are_matched_by_name_whatever_their_order(tmp_path: Path) -> None:
    facts, table = run(tmp_path, "b,a\n1,x\n", [("a", TEXT), ("b", EXACT), ("c", TEXT)], constants={"payer": "42"})
    assert table.to_pylist() == [{"a": "x", "b": Decimal(1), "c": None, "payer": "42"}]
    assert facts.warnings == ("report-1.csv: 1 columns are missing and loaded as NULL: c",)


def test_unplanned_columns_come_back_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnplannedColumns) as refused:
        run(tmp_path, "a,new,b,a\n1,2,3,4\n", [("a", TEXT), ("b", TEXT)])
    assert (refused.value.file, refused.value.names) == ("report-1.csv", ("new", "a#2"))


def test_equal_headers_are_the_planned_columns_in_turn() -> None:
    planned = [("x", "x"), ("x#2", "x_1"), ("y", "y")]
    assert match_header(["x", "y", "x"], planned, file="f") == (["x", "y", "x_1"], ())
    assert match_header(["y", "x"], planned, file="f") == (["y", "x"], ("x#2",))


@pytest.mark.parametrize("data", ["a,b\n", "a,b", "a,b\n\n\n"])
def test_a_file_without_rows_writes_nothing(tmp_path: Path, data: str) -> None:
    facts, _ = run(tmp_path, data, [("a", TEXT), ("b", EXACT)])
    assert (facts.source.rows, facts.files, facts.source.sums) == (0, (), {"b": Decimal(0)})


@pytest.mark.parametrize("data", ["", "\n\r\n", "\ufeff"])
@pytest.mark.parametrize("compression", ["none", "gzip", "zip"])
def test_a_file_without_a_header_is_no_empty_month(tmp_path: Path, data: str, compression: Packing) -> None:
    with pytest.raises(HeaderError, match=r"report-1\.csv.*the file is empty"):
        run(tmp_path, data, [("a", TEXT), ("b", EXACT)], compression=compression)


@pytest.mark.parametrize("data", ["a,b\r1,2\r3,4\r", "a,b\r1,2\n"])
def test_line_ends_that_are_no_newlines_are_refused(tmp_path: Path, data: str) -> None:
    with pytest.raises(HeaderError, match="carriage return alone"):
        run(tmp_path, data, [("a", TEXT), ("b", EXACT)])


def test_required_columns_come_before_unplanned_ones() -> None:
    planned = [("x", "x"), ("y", "y")]
    with pytest.raises(HeaderError, match=r"1 of the 2 columns .* missing: y\n") as refused:
        match_header(["x", "z"], planned, file="f", required=("x", "y"))
    assert "--allow-missing" in str(refused.value.remedy)
    assert match_header(["y"], planned, file="f", required=("y",)) == (["y"], ("x",))


@pytest.mark.parametrize(("row", "fields"), [("1", 1), ("1,2,3", 3)])
def test_a_row_of_another_width_is_refused_with_its_line(tmp_path: Path, row: str, fields: int) -> None:
    with pytest.raises(HeaderError, match=rf"2 fields.*\(it has {fields}\)") as refused:
        run(tmp_path, f'a,b\n"x\ny",2\n{row}\n', [("a", TEXT), ("b", TEXT)])
    assert refused.value.line == 4


def test_an_unclosed_quote_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="line 3: the file ends inside a quoted value"):
        run(tmp_path, 'a,b\n1,2\n3,"4\n5,6\n', [("a", TEXT), ("b", TEXT)])


@pytest.mark.parametrize("size", [1, 7, 40])
def test_a_truncated_gzip_is_refused_by_name(tmp_path: Path, size: int) -> None:
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(SourceError, match=r"report-1\.csv: the gzip data is cut short|not readable as gzip"):
        run(tmp_path, "", [("a", TEXT), ("b", TEXT)], compression="gzip", raw=whole[:-size])


@pytest.mark.parametrize(("packing", "raw"), [("gzip", b"a,b\n1,2\n" * 9), ("zip", b"a,b\n1,2\n")])
def test_the_wrong_packing_is_refused_by_name(tmp_path: Path, packing: Packing, raw: bytes) -> None:
    with pytest.raises(SourceError, match=rf"report-1\.csv: not readable as {packing}"):
        run(tmp_path, "", [("a", TEXT), ("b", TEXT)], compression=packing, raw=raw)


def test_a_damaged_zip_is_refused_by_name(tmp_path: Path) -> None:
    raw = bytearray(packed(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(50)), "zip"))
    raw[45] ^= 0xFF
    with pytest.raises(SourceError, match=r"report-1\.csv"):
        run(tmp_path, "", [("a", TEXT), ("b", TEXT)], compression="zip", raw=bytes(raw))


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="UTF-8 text") as refused:
        run(tmp_path, b"a,b\nx,1\n\xff\xfe,2\n", [("a", TEXT), ("b", EXACT)])
    assert (refused.value.line, refused.value.column) == (3, "a")
    with pytest.raises(SourceError, match="UTF-16"):
        run(tmp_path, "a,b\n1,2\n".encode("utf-16"), [("a", TEXT), ("b", TEXT)])


@pytest.mark.usefixtures("tiny_blocks")
def test_blocks_may_end_anywhere(tmp_path: Path) -> None:
    values = ["plain", 'quo"te', "new\nline", "com,ma", "x" * 40, '"', "\n\n", ",\n,"]
    lines = ['"' + value.replace('"', '""') + f'",{n}' for n, value in enumerate(values)]
    facts, table = run(tmp_path, "a,n\n" + "\n".join(lines) + "\n", [("a", TEXT), ("n", EXACT)])
    assert column(table, "a") == values
    assert facts.source.sums["n"] == sum(range(len(values)))


@pytest.mark.usefixtures("tiny_blocks")
def test_stray_quotes_are_letters(tmp_path: Path) -> None:
    data = 'a,n\n5" pipe,1\n"in\nside",2\nit"s,3\n"x ""y"" z",4\nlast",5\n'
    _, table = run(tmp_path, data, [("a", TEXT), ("n", EXACT)])
    assert column(table, "a") == ['5" pipe', "in\nside", 'it"s', 'x "y" z', 'last"']


@pytest.mark.usefixtures("tiny_blocks")
def test_lines_are_counted_over_blocks(tmp_path: Path) -> None:
    rows = "".join(f'"a\n{n}",{n}\n' for n in range(50))
    with pytest.raises(BadValue) as refused:
        run(tmp_path, f"a,n\n{rows}last,oops\n", [("a", TEXT), ("n", EXACT)])
    assert refused.value.line == 102


def test_quarantine_keeps_bad_rows_out_and_all_of_their_text(tmp_path: Path) -> None:
    data = "id,cost,at\n1,1.5,2026-10-01T00:00:00Z\n2,oops,never\n3,4\n4,2.5,2026-10-01T00:00:00Z\n"
    facts, table = run(tmp_path, data, [("id", TEXT), ("cost", EXACT), ("at", MOMENT)], quarantine=True)
    assert column(table, "id") == ["1", "4"]
    assert (facts.source.rows, facts.rejected_rows, facts.source.sums["cost"]) == (2, 2, Decimal(4))
    assert [(one.line, one.column, one.value) for one in facts.rejected] == [(3, "cost", "oops"), (4, "", "3,4")]
    (side,) = facts.rejected_files
    kept = pa.parquet.read_table(tmp_path / "out" / side.path)
    assert kept.select(["lakebed_line", "id", "cost", "at"]).to_pylist() == [
        {"lakebed_line": 3, "id": "2", "cost": "oops", "at": "never"},
        {"lakebed_line": 4, "id": "3", "cost": "4", "at": None},
    ]
