"""Names: the specification's steps 1 to 3 to the letter, and Athena's rule."""

import re

import pytest
from tests.support import SHARED

from lakebed.model import RESERVED_COLUMNS
from lakebed.schema.names import (
    RESERVED_WORDS,
    UniqueNames,
    create_column_mapping,
    distinct_originals,
    normalize_column_name,
)

SPECIFICATION = SHARED / "specs" / "cur-loader.md"


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("LineItemId", "line_item_id"),
        ("INVOICE_ID", "invoice_id"),
        ("user:Environment", "user_environment"),
        ("user__env", "user_env"),
        ("_column_", "column"),
        ("identity/LineItemId", "identity_line_item_id"),
        ("lineItem/UnblendedCost", "line_item_unblended_cost"),
        ("resourceTags/user:Environment", "resource_tags_user_environment"),
        ("reservation/ReservationARN", "reservation_reservation_arn"),
        ("pricing/LeaseContractLength2", "pricing_lease_contract_length2"),
        ("product/10GBase", "product_10_gbase"),
        ("bill/Straße", "bill_stra_e"),
    ],
)
def test_base_normalisation(original: str, name: str) -> None:
    assert normalize_column_name(original) == name


@pytest.mark.parametrize(
    ("original", "name"),
    [("", "unknown_column"), ("::", "unknown_column"), ("2factor", "col_2factor"), ("/2", "col_2")],
)
def test_edge_cases(original: str, name: str) -> None:
    assert normalize_column_name(original) == name


@pytest.mark.parametrize("word", sorted(RESERVED_WORDS))
def test_reserved_words_get_a_suffix(word: str) -> None:
    assert normalize_column_name(word) == f"{word}_col"
    assert normalize_column_name(word.upper()) == f"{word}_col"


@pytest.mark.skipif(
    not SPECIFICATION.exists(), reason="the specifications lie beside the repository in development only"
)
def test_the_reserved_words_are_the_specifications() -> None:
    text = SPECIFICATION.read_text().partition("Minimum required reserved words to handle:")[2].partition("##")[0]
    assert set(re.findall(r"`(\w+)`", text)) == RESERVED_WORDS


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("reservation/ReservationARN", "reservation_reservation_a_r_n"),
        ("lineItem/UnblendedCost", "line_item_unblended_cost"),
        ("bill/InvoiceId", "bill_invoice_id"),
    ],
)
def test_athena_puts_an_underscore_before_every_capital(original: str, name: str) -> None:
    assert normalize_column_name(original, "athena") == name


def test_duplicates_are_numbered_in_the_order_of_the_header() -> None:
    header = ["resourceTags/user:Environment", "resourceTags/user:environment", "resourceTags/user:ENVIRONMENT"]
    assert create_column_mapping(header) == [
        "resource_tags_user_environment",
        "resource_tags_user_environment_1",
        "resource_tags_user_environment_2",
    ]


def test_a_suffix_never_collides_with_a_real_name() -> None:
    assert create_column_mapping(["Foo", "foo", "foo_1"]) == ["foo", "foo_1", "foo_1_1"]
    assert create_column_mapping(["foo_1", "Foo", "foo"]) == ["foo_1", "foo", "foo_2"]


def test_the_same_header_twice_is_two_columns() -> None:
    assert create_column_mapping(["a", "a"]) == ["a", "a_1"]


def test_no_source_column_can_take_one_of_ours() -> None:
    assert create_column_mapping([*RESERVED_COLUMNS]) == [f"{name}_1" for name in RESERVED_COLUMNS]
    assert UniqueNames().give("LAKEBED_PERIOD") == "LAKEBED_PERIOD_1"


def test_repeated_originals_are_told_apart() -> None:
    assert distinct_originals(["a", "a", "a#2", "a"]) == ["a", "a#2", "a#2#2", "a#3"]
