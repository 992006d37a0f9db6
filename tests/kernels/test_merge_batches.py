"""A file is rewritten batch by batch: those without a match, those with nothing else, and the edges between them."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.kernels import merge as kernel
from lakebed.kernels import merge_files
from lakebed.model import DataFile
from lakebed.table.merge import merge

ROWS = 10
# With batches of three rows: none, one batch's middle, its edges, whole batches, the short last one, all.
MATCHES = [(), (4,), (2, 3), (3, 4, 5), (0,), (9,), (0, 8, 9), tuple(range(ROWS))]


def after(strategy: str, matched: tuple[int, ...]) -> dict[int, str]:
    """What the table holds after the merge: old rows say `old`, those of the source `new`."""
    old, new = dict.fromkeys(range(ROWS), "old"), dict.fromkeys((*matched, 100), "new")
    updated = {key: new.get(key, value) for key, value in old.items()}
    return {
        "upsert": {**old, **new},
        "update": updated,
        "insert": {**new, **old},
        "full_merge": new,
        "delete_insert": {**old, **new},
        "deduplicate": {**old, **new},
    }[strategy]


@pytest.mark.parametrize("matched", MATCHES, ids=str)
@pytest.mark.parametrize("strategy", ["upsert", "update", "insert", "full_merge", "delete_insert", "deduplicate"])
def test_every_batch_keeps_what_it_must(tmp_path: Path, strategy: str, matched: tuple[int, ...]) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"id": range(ROWS), "what": ["old"] * ROWS}), folder / "a.parquet")
    source = pa.table({"id": [*matched, 100], "what": ["new"] * (len(matched) + 1)})
    with patch.object(merge_files, "BATCH_ROWS", 3):
        result = merge(source, str(folder), keys="id", strategy=strategy, engine="arrow")  # type: ignore[arg-type]
    found = pq.read_table(folder)
    expected = after(strategy, matched)
    assert dict(zip(found["id"].to_pylist(), found["what"].to_pylist(), strict=True)) == expected
    assert found.num_rows == len(expected)
    assert result.inserted == (strategy != "update") + (len(matched) if strategy == "delete_insert" else 0)
    counted = strategy not in ("insert", "delete_insert")
    assert result.updated == (len(matched) if counted else 0)
    assert result.deleted == {"full_merge": ROWS - len(matched), "delete_insert": len(matched)}.get(strategy, 0)


class _CountedNames:
    """A schema that counts how often the list of its names is made."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self.asked = schema, 0

    def __iter__(self) -> Iterator[pa.Field]:
        return iter(self._schema)

    @property
    def names(self) -> list[str]:
        self.asked += 1
        return list(self._schema.names)


def test_a_wide_file_is_asked_for_its_names_once() -> None:
    """Arrow makes the list anew each time: asked for once for each column, five thousand columns cost seconds."""
    schema = pa.schema([(f"c{number}", pa.int64()) for number in range(50)])
    present = _CountedNames(schema)
    reader = SimpleNamespace(schema_arrow=present, iter_batches=lambda **_: iter(()))
    file = DataFile("wide.parquet", 1, 1, {}, {}, "")
    assert list(kernel._batches_of(reader, file, None, kernel.Rules(schema, schema))) == []  # type: ignore[arg-type]
    assert present.asked <= 2
