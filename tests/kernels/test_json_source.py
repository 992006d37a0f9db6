"""JSON in every form that files have it, cut anywhere, and what is wrong with it, with its line."""

import io

import pyarrow as pa
import pytest

from lakebed.errors import SourceError
from lakebed.kernels import json_source
from lakebed.kernels.evidence import JsonNumber
from lakebed.kernels.json_source import JsonBatches, as_text, read_json
from lakebed.kernels.limits import Limits


def read(
    data: str | bytes, **options: object
) -> tuple[list[tuple[int, dict[str, object]]], list[tuple[int | None, str]]]:
    raw = data.encode() if isinstance(data, str) else data
    rows, wrong = [], []
    for part in read_json(io.BytesIO(raw), key="f.json", **options):  # type: ignore[arg-type]
        rows += list(zip(part.lines, part.rows, strict=True))
        wrong += [(one.line, one.expected) for one in part.rejected]
    return rows, wrong


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ('{"a":1}\n{"a":2}\n', [(1, "1"), (2, "2")]),
        ('{"a":1}\n\n  \n{"a":2}', [(1, "1"), (4, "2")]),
        ('[{"a":1},{"a":2}]', [(1, "1"), (1, "2")]),
        ('\ufeff[\n {"a":1},\n {"a":2}\n]\n', [(2, "1"), (3, "2")]),
        ('{\n"a":1\n}\n{"a":2}', [(1, "1"), (4, "2")]),
        ('{"a":1}{"a":2} {"a":3}', [(1, "1"), (1, "2"), (1, "3")]),
        ("[]", []),
        ("", []),
        ("\n \n", []),
        ('{"a":"\u00e4\U0001f600"}\n', [(1, "\u00e4\U0001f600")]),
        ('{"a":1.10}\r\n{"a":1E400}\r\n', [(1, "1.10"), (2, "1E400")]),
    ],
)
def test_every_form(data: str, expected: list[object], chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_source, "_CHUNK_BYTES", chunk)
    monkeypatch.setattr(json_source._Text._fill, "__defaults__", (chunk,))
    rows, wrong = read(data)
    assert ([(line, row["a"]) for line, row in rows], wrong) == (expected, [])


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        ('{"a":1}\n{"a":\n{"a":2}\n', 2, "Expecting value"),
        ('{"a":1}\n[1]\n', 2, "each key is a column"),
        ('{"a":1}\n7\n', 2, "each key is a column"),
        ('{"a":1}\n{"a":1,"a":2}\n', 2, "the key 'a' comes twice"),
        ('{"a":1}\n{"a":NaN}\n', 2, "NaN is no value"),
        ('{"a":\n{"a":2}\n', 1, "Expecting"),
        ('{"a":1}\n{"a":' + "[" * 5000 + "\n", 2, "nested too deeply"),
        ('{"a":1}\n{"a":' + "[" * 500 + "]" * 500 + "}\n", 2, "nested too deeply"),
        ('{"a":1}\n{"a":' + '{"b":' * 500 + "1" + "}" * 501 + "\n", 2, "nested too deeply"),
    ],
)
def test_a_bad_line_is_rejected_with_its_number(data: str, line: int, said: str) -> None:
    rows, [(found, expected)] = read(data)
    assert found == line
    assert said in expected
    assert len(rows) == data.count("\n") - 1


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('[{"a":1},\n{"a":', "f.json, line 2: not JSON"),
        ('[{"a":1}\n{"a":2}]', "line 2: not JSON: a comma is missing"),
        ('[{"a":1}', "line 1: not JSON: the list is not closed"),
        ('[{"a":1}] x', "something follows the list"),
        ('[{"a":' + "[" * 500 + "]" * 500 + "}]", "nested too deeply"),
        ('{\n"a": 1\n}\n{\n"b"\n}', "line 4: not JSON"),
        (b'{"a":1}\n{"a":"\xff"}\n', "line 2: not UTF-8"),
    ],
)
def test_what_cannot_be_read_on_is_an_error(data: str | bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(data)


def test_one_value_is_not_read_without_end() -> None:
    with pytest.raises(SourceError, match="within 100 bytes"):
        read('{"a":"' + "x" * 10_000_000, limits=Limits(line_bytes=100))
    with pytest.raises(SourceError, match="within 100 bytes"):
        read('[{"a":"' + "x" * 10_000_000, limits=Limits(line_bytes=100))


def test_values_as_text_keep_every_letter_of_numbers() -> None:
    [(_, row)] = read('{"a": {"b": [1.10, true, null, "x\\"y"]}}')[0]
    assert as_text(row["a"]) == '{"b": [1.10, true, null, "x\\"y"]}'
    assert as_text(JsonNumber("1.50")) == "1.50"
    assert as_text("plain") == "plain"
    assert as_text(None) is None


def test_values_that_do_not_fit_are_rejected_with_line_and_column() -> None:
    data = (
        '{"n":1,"s":{"x":1}}\n{"n":"many","s":null}\n{"n":3,"s":{"x":"y"}}\n'
        '{"n":4,"s":{"x":1,"z":2}}\n{"n":"\\ud800"}\n'
    )
    types = {"n": pa.int32(), "s": pa.struct([("x", pa.int64())])}
    [batch] = JsonBatches(io.BytesIO(data.encode()), key="f", columns=[("n", "n"), ("s", "s")], types=types)
    assert batch.rows.to_pylist() == [{"n": 1, "s": {"x": 1}}]
    assert batch.rejected is not None
    assert [(one.line, one.column) for one in batch.rejected.reasons] == [(2, "n"), (3, "s"), (4, "s"), (5, "n")]
