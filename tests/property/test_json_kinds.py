"""JSON whose values are seen and read many at once is what it is one by one."""

import io
import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.kernels import json_source
from lakebed.kernels.evidence import Evidence
from lakebed.kernels.json_source import JsonBatches, read_json
from lakebed.model import Digits
from lakebed.schema.infer import infer_type

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-(2**33), 2**33).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9).map(str),
    st.sampled_from(["0", "-0", "0.0", "-0.5", "1e5", "1.5e3", "2E-7", "1e400", "123456789012345678901234567890.5"]),
)
STRINGS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        [
            "",
            "NULL",
            "007",
            "1.5",
            "true",
            "2026-11-01",
            "2026-02-30",
            " 2026-11-01 ",
            "2026-11-01T10:00:00",
            "2026-11-01T10:00:00Z",
            "2026-11-01 10:00:00.123456+02:00",
            "0000-01-01",
            "\\ud800",
        ]
    ),
).map(lambda text: '"\\ud800"' if text == "\\ud800" else json.dumps(text))
SCALARS = st.one_of(NUMBERS, STRINGS, st.sampled_from(["true", "false", "null"]))
ALIKE = st.one_of(*(st.lists(st.one_of(one, st.just("null")), min_size=1, max_size=20) for one in (NUMBERS, STRINGS)))
NESTED = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda given: "[" + ",".join(given) + "]"),
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2).map(
            lambda given: "{" + ",".join(f'"{name}":{value}' for name, value in given.items()) + "}"
        ),
    ),
    max_leaves=6,
)
COLUMNS = st.one_of(
    ALIKE,
    st.lists(st.sampled_from(["true", "false", "null"]), min_size=1, max_size=20),
    st.lists(NESTED, min_size=1, max_size=12),
)
TYPES = [
    pa.int32(),
    pa.int64(),
    pa.decimal128(38, 18),
    pa.decimal128(10, 2),
    pa.float64(),
    pa.bool_(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
]


def text_of(values: list[str]) -> bytes:
    return "".join(f'{{"c":{value}}}\n' for value in values).encode()


def values_of(text: bytes) -> list[object]:
    return [row["c"] for part in read_json(io.BytesIO(text), key="j") for row in part.rows]


@settings(max_examples=300)
@given(COLUMNS, st.sampled_from([Digits(), Digits(18, 2), Digits(5, 2)]), st.integers(0, 12))
def test_what_is_seen_at_once_is_what_is_seen_one_by_one(values: list[str], digits: Digits, cut: int) -> None:
    found = values_of(text_of(values))
    at_once, one_by_one = Evidence(), Evidence()
    at_once.see_json_values(found[:cut], digits)
    at_once.see_json_values(found[cut:], digits)
    for value in found:
        one_by_one.see_json(value, digits)
    assert at_once == one_by_one
    assert infer_type(at_once, digits, column="c") == infer_type(one_by_one, digits, column="c")


@settings(max_examples=300)
@given(COLUMNS, st.sampled_from(TYPES), st.booleans(), st.booleans())
def test_what_is_read_at_once_is_what_is_read_one_by_one(
    values: list[str], wanted: pa.DataType, inferred: bool, rounds: bool
) -> None:
    text = text_of(values)

    def read() -> list[object]:
        rows = JsonBatches(
            io.BytesIO(text),
            key="j",
            columns=[("c", "c")],
            types={"c": wanted},
            inferred=["c"] if inferred else (),
            rounds=rounds,
        )
        told = [
            (batch.rows, None if batch.rejected is None else (batch.rejected.texts, batch.rejected.reasons))
            for batch in rows
        ]
        return [told, rows.null_words, rows.nothings, rows.seen]

    at_once = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_source, "parse_alike", lambda *_: None)
        assert read() == at_once
