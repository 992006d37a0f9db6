"""A refused value comes with advice that helps: what cannot help is not advised."""

import pyarrow as pa
import pytest

from lakebed.kernels.remedies import remedy
from lakebed.kernels.values import decimal_from, exact_type

DEFAULT = pa.decimal128(38, 18)


@pytest.mark.parametrize(
    "value", ["NaN", "nan", "-Infinity", "inf", "1_000", "1,000,000", "1 000.50", "12,5", "abc", "1e"]
)
def test_what_is_no_number_is_never_told_to_use_wider_decimals(value: str) -> None:
    assert "--decimals" not in remedy(value, DEFAULT)
    assert "quarantine" in remedy(value, DEFAULT)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("NaN", "NaN cannot be added up: leave the field empty"),
        ("-Infinity", "-Infinity cannot be added up"),
        ("1_000", "without separators, as in 1000,"),
        ("-1,234,567.89", "without separators, as in -1234567.89,"),
        ("12,5", "a point before its decimals, as in 12.5,"),
        ("1" * 30, "no setting of --decimals holds more than 20 digits before the point, and this number has 30"),
        ("1e25", "this number has 26"),
        ("9" * 1500, "this number has 1500"),
        ("9" * 1500 + ".50", "this number has 1500"),
        ("0." + "9" * 1500 + "00", "no decimal type holds the 1500 digits of this number"),
        ("1e9999", "this number has 10000"),
        ("1" * 20 + "." + "1" * 19, "no decimal type holds the 39 digits of this number"),
        ("0.1234567890123456789", "--decimals 38,19"),
        ("1e-24", "--decimals 38,24"),
    ],
)
def test_the_advice_for_each(value: str, says: str) -> None:
    assert says in remedy(value, DEFAULT)


@pytest.mark.parametrize(("value", "plain"), [("1e3", "1000"), ("007", "7"), ("+4.50", "4.50"), ("-12E2", "-1200")])
def test_a_number_that_fits_but_may_be_a_code_is_told_to_be_written_plainly(value: str, plain: str) -> None:
    assert remedy(value, DEFAULT).startswith(f"Write the number as {plain}, or")


def test_a_narrow_table_is_told_the_type_that_holds_the_number() -> None:
    assert "--decimals 38,2," in remedy("9" * 17, pa.decimal128(18, 2))


@pytest.mark.parametrize("value", ["0.1234567890123456789", "1e-24", "12345678.0000000000000000000001", "-0.5e-25"])
def test_the_advised_type_holds_the_number(value: str) -> None:
    _, _, rest = remedy(value, DEFAULT).partition("--decimals ")
    precision, scale = rest.split(", which")[0].split(",")
    assert decimal_from(value, exact_type(pa.decimal128(int(precision), int(scale)))) is not None


def test_other_types_are_corrected_or_set_aside() -> None:
    assert remedy("yesterday", pa.timestamp("us")).startswith(
        "Correct the file, or load with --on-bad-value quarantine"
    )
