"""The same files give the same table, in whichever order they lie and in however many calls they come.

In several calls that holds wherever the target can widen; where it cannot, a value is refused and the table stays.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.errors import LakebedError
from lakebed.targets.address import Address
from lakebed.workspace import Workspace

VALUES = st.sampled_from(
    [
        *("0", "-0", "7", "-12", "2147483648", "9223372036854775808", "9" * 30, "9" * 39),
        *(
            "1.5",
            "0.50",
            "-3.000",
            "1e-3",
            "1e5",
            "2.5E3",
            "0.1234567890123456789",
            ".5",
            "1" * 20 + ".5",
            "1" * 21 + ".5",
        ),
        *("007", "+1", "00", "x", "true", "False", "NULL", "null", "NaN", " 7", "1 ", " "),
        *("2026-01-31", "2026-02-30", "2026-01-31T10:00:00", "2026-01-31 10:00:00.5", "2026-01-31T10:00:00Z"),
        *("2026-01-31T10:00:00+02:00", "0001-01-01T00:00:00+05:00", "é", 'a"b', "a,b"),
    ]
)
CELLS = st.one_of(st.just(""), VALUES)
NUMBERS = st.sampled_from(["0", "7", "-1.50", "1e5", "1E-30", "9" * 25, "3000000000", "1.0"])
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), VALUES, NUMBERS.map(lambda text: f"#{text}")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["p", "q"]), inner, max_size=2)
    ),
    max_leaves=4,
)
COLUMNS = st.lists(st.sampled_from(["a", "b", "Cc"]), min_size=1, max_size=3, unique=True)


def dump(value: object) -> str:
    """JSON in which numbers are written as they were drawn."""
    if isinstance(value, str):
        return value[1:] if value.startswith("#") else json.dumps(value)
    if isinstance(value, list):
        return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dump(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[str, str]:
    columns = draw(COLUMNS)
    # A field of its own, so that no line is empty.
    rows = draw(st.lists(st.tuples(*(CELLS for _ in columns)), max_size=3))
    quoted = [",".join(['"' + cell.replace('"', '""') + '"' for cell in ("k", *row)]) for row in rows]
    return ".csv", "\n".join([",".join(("k", *columns)), *quoted]) + "\n"


@st.composite
def json_files(draw: st.DrawFn) -> tuple[str, str]:
    rows = draw(st.lists(st.dictionaries(st.sampled_from(["a", "b", "Cc"]), JSON_VALUES, max_size=3), max_size=3))
    return ".json", "\n".join(dump({"k": "k", **row}) for row in rows) + "\n"


def ingest(folder: Path, target: str) -> None:
    lakebed.ingest(folder, target, workdir=folder.parent / "work")


def look(folder: Path, target: str) -> tuple[dict[str, str], list[str]] | None:
    """Types and rows, whatever their order; the order of columns and of fields is that of their arrival."""
    opened = Workspace.open({"workdir": str(folder.parent / "work")}).target(Address.parse(target), read_only=True)
    state = opened.state()
    if not state.exists:
        return None
    found = opened.read()
    table = found if isinstance(found, pa.Table) else found.to_table()
    types = {column.name: "".join(sorted(str(column.type))) for column in state.schema}
    return types, sorted(json.dumps(plain(row), sort_keys=True, default=str) for row in table.to_pylist())


def plain(value: object) -> object:
    """A value without what holds nothing: a list that is empty in all files so far has no column yet, and is NULL."""
    if isinstance(value, dict):
        found = {name: one for name, inner in value.items() if (one := plain(inner)) is not None}
        return found or None
    if isinstance(value, list):
        found_list = [plain(one) for one in value]
        return found_list if any(one is not None for one in found_list) else None
    return value


def fill(root: str, name: str, files: Sequence[tuple[str, str]], order: Sequence[int]) -> Path:
    folder = Path(root, name, "in")
    folder.mkdir(parents=True)
    for place, number in enumerate(order):
        ending, text = files[number]
        (folder / f"{place}{ending}").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True, scope="module")
def without_spark() -> object:
    patch = pytest.MonkeyPatch()
    use_arrow(patch)
    yield
    patch.undo()


FILES = st.lists(st.one_of(csv_files(), json_files()), min_size=1, max_size=4, unique=True)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), FILES, st.sampled_from(["parquet", "duckdb", "iceberg"]))
def test_the_same_files_give_the_same_table(data: st.DataObject, files: list[tuple[str, str]], kind: str) -> None:
    numbers = list(range(len(files)))
    shuffled = data.draw(st.permutations(numbers))
    with tempfile.TemporaryDirectory() as root:
        addresses = {name: f"{kind}:{address(root, name, kind)}" for name in ("one", "two", "three")}
        one = fill(root, "one", files, numbers)
        try:
            ingest(one, addresses["one"])
        except LakebedError as error:
            # Only where nothing at all is there.
            assert "empty" in str(error) or "holds a value" in str(error), error  # noqa: PT017
            return
        whole = look(one, addresses["one"])
        two = fill(root, "two", files, shuffled)
        ingest(two, addresses["two"])
        assert look(two, addresses["two"]) == whole
        cut = data.draw(st.integers(0, len(files)))
        three = fill(root, "three", files, shuffled[:cut])
        before = None
        try:
            if cut:
                ingest(three, addresses["three"])
            before = look(three, addresses["three"])
            for place, number in enumerate(shuffled[cut:], cut):
                (three / f"{place}{files[number][0]}").write_text(files[number][1], encoding="utf-8")
            ingest(three, addresses["three"])
        except LakebedError as error:
            event("refused")
            assert "column" in str(error) or "empty" in str(error) or "holds a value" in str(error), error  # noqa: PT017
            assert look(three, addresses["three"]) == before
            return
        event("equal in two calls")
        assert look(three, addresses["three"]) == whole


def address(root: str, name: str, kind: str) -> str:
    if kind == "iceberg":
        return f"{name}.events"
    return str(Path(root, name, "table")) + (".duckdb#events" if kind == "duckdb" else "")
