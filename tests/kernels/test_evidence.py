"""What values are seen to be, alone and joined, at once and one by one."""

import itertools

import pyarrow as pa
import pytest

from lakebed.kernels.evidence import Evidence, JsonNumber
from lakebed.kernels.values import typed
from lakebed.model import Digits
from lakebed.schema.infer import infer_type

DIGITS = Digits()


def seen(*texts: str) -> Evidence:
    evidence = Evidence()
    evidence.see_texts(pa.chunked_array([pa.array(texts, pa.string())]), DIGITS)
    return evidence


def type_of(*texts: str) -> str:
    return str(infer_type(seen(*texts), DIGITS).type)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("1", "-5", "0"), "int32"),
        (("2147483648",), "int64"),
        (("9223372036854775808",), "decimal(38,0)"),
        (("9" * 38,), "decimal(38,0)"),
        (("9" * 39,), "text"),
        (("1.0",), "decimal(38,18)"),
        (("1", "0.5"), "decimal(38,18)"),
        (("9" * 20 + "." + "9" * 18,), "decimal(38,18)"),
        (("9" * 21, "0.5"), "text"),
        (("0.0000000000000000001",), "text"),
        (("0.1000000000000000000000",), "decimal(38,18)"),
        (("007",), "text"),
        (("1", "01"), "text"),
        (("-01",), "text"),
        (("+5",), "text"),
        (("1e5",), "text"),
        (("1e-5", "1.5E3"), "decimal(38,18)"),
        (("1.5e-30",), "text"),
        ((".5", "-.5"), "decimal(38,18)"),
        (("5.",), "text"),
        (("1,000",), "text"),
        (("NaN",), "text"),
        (("Infinity",), "text"),
        (("٣",), "text"),
        (("true", "FALSE"), "boolean"),
        (("true", "1"), "text"),
        (("2026-02-28",), "date"),
        (("2026-02-30",), "text"),
        (("0000-00-00",), "text"),
        (("20260228",), "int32"),
        (("2026-02-28T10:00:00",), "timestamp(us)"),
        (("2026-02-28 10:00",), "timestamp(us)"),
        (("2026-02-28", "2026-02-28T10:00:00.123456"), "timestamp(us)"),
        (("2026-02-28T10:00:00Z", "2026-02-28T10:00:00+02:00"), "timestamp(us, UTC)"),
        (("2026-02-28T10:00:00Z", "2026-02-28T10:00:00"), "text"),
        (("2026-02-28T10:00:00.1234567",), "text"),
        (("2026-02-28T25:00:00",), "text"),
        (("0001-01-01T00:00:00+05:00",), "text"),
        (("10:30",), "text"),
        (("NULL", "1"), "text"),
        ((" ",), "text"),
        ((" 7", "8 "), "int32"),
    ],
    ids=str,
)
def test_the_narrowest_type_that_holds_all(texts: tuple[str, ...], expected: str) -> None:
    assert type_of(*texts) == expected
    for order in itertools.permutations(texts):
        joined = Evidence()
        for text in order:
            joined.join(seen(text))
        assert str(infer_type(joined, DIGITS).type) == expected


def test_what_is_empty_is_no_evidence() -> None:
    assert str(infer_type(Evidence(), DIGITS).type) == "null"
    nothing = Evidence()
    nothing.see_texts(pa.chunked_array([pa.nulls(3, pa.string())]), DIGITS)
    assert nothing == Evidence()


def test_the_digits_of_the_settings_decide() -> None:
    evidence = Evidence()
    evidence.see_text("1.25", Digits(18, 2))
    assert str(infer_type(evidence, Digits(18, 2)).type) == "decimal(18,2)"
    evidence.see_text("1.255", Digits(18, 2))
    inferred = infer_type(evidence, Digits(18, 2))
    assert (str(inferred.type), inferred.because) == ("text", "1.255")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"a": JsonNumber("1")}, {"b": "x"}], "struct<a: int32, b: text>"),
        ([{}], "null"),
        ([{"a": None}], "null"),
        ([[], [JsonNumber("1")]], "list<int32>"),
        ([[]], "null"),
        ([[[JsonNumber("1.5")], []]], "list<list<decimal(38,18)>>"),
        ([{"a": JsonNumber("1")}, JsonNumber("1")], "text"),
        ([{}, [], [None], {"a": []}, JsonNumber("1")], "int32"),
        (["1"], "text"),
        (["2026-01-01"], "date"),
        ([JsonNumber("1e5")], "decimal(38,18)"),
        ([True, JsonNumber("1")], "text"),
        ([{"a": JsonNumber("1"), "A": JsonNumber("2")}], "text"),
        ([{"": JsonNumber("1")}], "text"),
    ],
    ids=str,
)
def test_values_of_json(values: list[object], expected: str) -> None:
    for order in itertools.permutations(values):
        evidence = Evidence()
        for value in order:
            evidence.see_json(value, DIGITS)
        found = str(infer_type(evidence, DIGITS).type)
        assert found == expected or sorted(found) == sorted(expected)


def test_what_files_declare_is_joined_with_what_was_seen() -> None:
    evidence = seen("5")
    evidence.join(Evidence(declared=[pa.int64()]))
    assert str(infer_type(evidence, DIGITS).type) == "int64"
    evidence.join(Evidence(declared=[pa.string()]))
    assert str(infer_type(evidence, DIGITS).type) == "text"


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (pa.date32(), "0000-01-01"),
        (pa.timestamp("us"), "0000-01-01T00:00:00"),
        (pa.timestamp("us", "UTC"), "0000-12-31T23:59:59Z"),
    ],
)
def test_a_year_that_python_does_not_know_is_refused_whatever_stands_beside_it(wanted: pa.DataType, text: str) -> None:
    for others in ([], ["x"], ["0001-01-01"]):
        parsed = typed(pa.chunked_array([pa.array([text, *others])]), wanted)
        assert parsed.bad[0] == 0
        assert parsed.values[0].as_py() is None
