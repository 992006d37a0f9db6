"""Names are unique, deterministic and lasting, whatever the headers are."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from lakebed.model import RESERVED_COLUMNS
from lakebed.schema.identity import Identities, assign
from lakebed.schema.names import RESERVED_WORDS, Naming, create_column_mapping, normalize_column_name
from lakebed.schema.originals import originals_text, read_originals
from lakebed.schema.types import Column, Schema, Text, fold

NAMINGS: st.SearchStrategy[Naming] = st.sampled_from(["spec", "athena"])
headers = st.lists(
    st.sampled_from(
        ["Foo", "foo", "FOO", "foo_1", "foo_1_1", "foo-1", "a/Foo", "a/foo", "a/FOO", "a_foo", "lakebed_period"]
    )
    | st.text(max_size=6),
    max_size=12,
)


def as_table(identities: Identities) -> Schema:
    """What a new ledger finds: the table, each column with the text that its format keeps of the originals."""
    columns = []
    for name in identities.names:
        originals = identities.originals(name)
        first = originals[0] if originals else None
        text = originals_text(Column(name, Text(), original=first, aliases=originals[1:]))
        columns.append(Column(name, Text(), True, *read_originals(text)))
    return Schema.of(columns)


@given(st.text(), NAMINGS)
def test_a_name_is_plain_and_settled(original: str, naming: Naming) -> None:
    name = normalize_column_name(original, naming)
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name)
    assert name not in RESERVED_WORDS
    assert normalize_column_name(name, naming) == name


@given(headers, NAMINGS)
def test_names_of_a_header_are_unique_and_never_ours(header: list[str], naming: Naming) -> None:
    names = create_column_mapping(header, naming)
    assert len(set(names)) == len(names) == len(header)
    assert not set(names) & set(RESERVED_COLUMNS)
    assert names == create_column_mapping(header, naming)


@given(headers)
def test_without_collisions_of_suffixes_the_names_are_those_of_the_specifications_code(header: list[str]) -> None:
    seen: dict[str, int] = {}
    specified = []
    for original in header:
        base = normalize_column_name(original)
        if base in seen:
            seen[base] += 1
            specified.append(f"{base}_{seen[base]}")
        else:
            seen[base] = 0
            specified.append(base)
    # Its code gives a name twice where a suffix meets a real name, and does not know our four columns.
    if len(set(specified)) == len(specified) and not set(specified) & set(RESERVED_COLUMNS):
        assert create_column_mapping(header) == specified


@given(headers, NAMINGS)
def test_identity_of_one_header_is_its_mapping(header: list[str], naming: Naming) -> None:
    assert list(assign(Identities(), header, naming).names) == create_column_mapping(header, naming)


@given(st.lists(headers, max_size=4), st.randoms(use_true_random=False), st.booleans(), NAMINGS)
def test_identities_last(months: list[list[str]], random: object, finished: bool, naming: Naming) -> None:
    identities = Identities()
    for header in months:
        before = identities
        identities = assign(identities, header, naming, finished_names=finished)
        assert before.names == identities.names[: len(before.names)]
        for name in before.names:
            assert before.originals(name)[:1] == identities.originals(name)[:1]
    for header in months:
        identities = assign(identities, header, naming, finished_names=finished)
    for header in months:
        shuffled = sorted(set(header))
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        assert assign(identities, shuffled, naming, finished_names=not finished) == identities
    assert len(set(map(fold, identities.names))) == len(identities.names)
    assert not set(identities.by_original.values()) & set(RESERVED_COLUMNS)


@given(st.lists(headers, max_size=4), NAMINGS)
# Seeds 5 and 13 of a table that carried one original only.
@example([["line_item_cost"], ["lineItem/Cost"], ["line item cost"]], "spec")
@example([["a_foo"], ["a/Foo"], ["A_FOO"]], "spec")
@example([["foo"], ["a/foo", "foo"], ["a_foo"]], "athena")
def test_a_new_ledger_names_alike(months: list[list[str]], naming: Naming) -> None:
    identities = Identities()
    for header in months:
        identities = assign(identities, header, naming)
    table = as_table(identities)
    for header in months:
        rebuilt = assign(Identities.from_schema(table), sorted(set(header)), naming)
        assert {o: rebuilt[o] for o in set(header)} == {o: identities[o] for o in set(header)}


@given(st.lists(st.tuples(headers, st.booleans()), max_size=5))
def test_two_originals_of_one_delivery_never_share_a_column(deliveries: list[tuple[list[str], bool]]) -> None:
    identities = Identities()
    for header, finished in deliveries:
        identities = assign(identities, header, finished_names=finished)
        names = [identities[original] for original in set(header)]
        assert len(set(map(fold, names))) == len(names)
