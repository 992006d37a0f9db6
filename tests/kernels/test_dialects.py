"""How text files are written: found out from their bytes."""

import pytest

from lakebed.errors import ConfigError
from lakebed.kernels.dialects import EightBits, detect_encoding, detect_marks, require_known


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a,b\n1,2\n", "utf-8"),
        ("ä".encode(), "utf-8"),
        ("\ufeffa,b".encode(), "utf-8"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16-le"),
        ("a,b\n1,2\n".encode("utf-16-be"), "utf-16-be"),
        ("a,b\n".encode("utf-32"), "utf-32"),
        (b"", "utf-8"),
        (b"a\0b\n", "utf-8"),
    ],
)
def test_encodings(data: bytes, expected: str) -> None:
    assert detect_encoding(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"plain", None),
        ("schön".encode(), None),
        ("schön".encode("latin-1"), "latin-1"),
        ("10 €".encode("cp1252"), "cp1252"),
        (b"\x81", "latin-1"),
        ("schön".encode() + b"\xff", None),  # UTF-8 with damage is no other encoding
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_one_byte_a_letter(data: bytes, expected: str | None, size: int) -> None:
    bits = EightBits()
    for start in range(0, len(data), size):
        bits.feed(data[start : start + size])
    bits.feed(b"", last=True)
    assert bits.encoding == expected


@pytest.mark.parametrize(
    ("sample", "delimiter", "quote"),
    [
        ("a,b\n1,2\n", ",", '"'),
        ("a;b\n1,5;2\n", ";", '"'),
        ("a\tb\n1,5\t2;3\n", "\t", '"'),
        ("a|b\nx|y\n", "|", '"'),
        ("text\nhello, world; and more\n", ",", '"'),
        ("'a','b'\n'1,2','x'\n", ",", "'"),
        ("a,b\nit's,o'clock\n", ",", '"'),
        ('a;b\n"x;y";"z\nw"\n', ";", '"'),
        ("a, b, c\n1, 2, 3\n", ",", '"'),
        ("", ",", '"'),
        ("a,b;c\n1,2;3\n1,2;3\n", ",", '"'),
    ],
)
def test_delimiters_and_quotes(sample: str, delimiter: str, quote: str) -> None:
    found = detect_marks(sample, whole=True)
    assert (found.delimiter, found.quote) == (delimiter, quote)


def test_excels_hint_is_no_header() -> None:
    found = detect_marks("sep=|\r\na|b\r\n1;2|3;4\r\n", whole=True)
    assert (found.delimiter, found.skipped_lines) == ("|", 1)


def test_what_is_given_is_kept() -> None:
    assert detect_marks("a,b\n1,2\n", whole=True, delimiter=";").delimiter == ";"
    assert detect_marks("'a','b'\n", whole=True, quote='"').quote == '"'


def test_unknown_encodings_are_refused() -> None:
    assert require_known("UTF8") == "utf-8"
    for name in ("klingon", "hex"):
        with pytest.raises(ConfigError, match=name):
            require_known(name)
