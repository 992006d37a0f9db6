"""Mutated and random bytes at every entrance: a named error or a right answer, within steps and memory."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import ROOT
from tests.support.call_counts import count_calls
from tests.support.hostile_inputs import Entrance, enter, entrances

ENTRANCES = {entrance.name: entrance for entrance in entrances()}
# The largest of the seeds takes a twentieth of it; what grows with the square of its length takes more.
MOST_CALLS = 1_000_000
# libFuzzer counts what the process holds and what it asks for at once.
MEMORY_MB = 2048
RUNS = 5_000


@st.composite
def mutated(draw: st.DrawFn, seeds: tuple[bytes, ...]) -> bytes:
    """A right input with some of it cut, doubled or written over."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(data)))
        to = min(len(data), at + draw(st.integers(0, 16)))
        match draw(st.sampled_from(["cut", "write", "double", "end"])):
            case "cut":
                del data[at:to]
            case "write":
                data[at:to] = draw(st.binary(max_size=16))
            case "double":
                data[at:at] = data[at:to] * draw(st.integers(1, 200))
            case _:
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", ENTRANCES)
def test_seeds_enter_without_a_refusal_of_the_wrong_kind(name: str, tmp_path: Path) -> None:
    for seed in ENTRANCES[name].seeds:
        enter(ENTRANCES[name], seed, tmp_path)


@pytest.mark.parametrize("name", ENTRANCES)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_mutated_input_is_refused_by_name_or_read(name: str, data: st.DataObject) -> None:
    entrance: Entrance = ENTRANCES[name]
    given_bytes = data.draw(st.one_of(mutated(entrance.seeds), st.binary(max_size=400)))
    with tempfile.TemporaryDirectory() as folder, count_calls(MOST_CALLS):
        enter(entrance, given_bytes, Path(folder))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "/", "..", "../../etc/passwd", "s3://", "20261001-20261101", "\ud800", "a\x00b", "1e999"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def with_any_value(draw: st.DrawFn, document: object) -> object:
    """A document in which one value, at any depth, is any other, or is gone."""
    if isinstance(document, dict | list) and document and draw(st.integers(0, 4)):
        place = draw(st.sampled_from(list(document) if isinstance(document, dict) else range(len(document))))
        changed = document.copy()
        if draw(st.integers(0, 4)):
            changed[place] = draw(with_any_value(document[place]))
        else:
            del changed[place]
        return changed
    return draw(JSON)


@pytest.mark.parametrize("name", ["manifest", "delivery"])
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_manifest_with_any_value_anywhere_is_refused_by_name_or_read(name: str, data: st.DataObject) -> None:
    entrance: Entrance = ENTRANCES[name]
    document = json.loads(data.draw(st.sampled_from(entrance.seeds)))
    for _ in range(data.draw(st.integers(1, 3))):
        document = data.draw(with_any_value(document))
    with tempfile.TemporaryDirectory() as folder, count_calls(MOST_CALLS):
        enter(entrance, json.dumps(document).encode(), Path(folder))


@pytest.mark.full
@pytest.mark.processes
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed: no wheel here")
@pytest.mark.parametrize("name", ENTRANCES)
def test_input_that_coverage_guides_is_refused_by_name_or_read(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "tests" / "support" / "fuzzing.py"),
            name,
            str(tmp_path),
            f"-runs={RUNS}",
            "-seed=1",
            "-max_len=20000",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-malloc_limit_mb={MEMORY_MB}",
            f"-artifact_prefix={tmp_path}/",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-2000:]
