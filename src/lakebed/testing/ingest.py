"""The conformance suite of `lakebed ingest`: a target's or an engine's tests inherit it and write one fixture, `place`.

class TestMine(IngestConformance):
    @pytest.fixture
    def place(self, tmp_path): return Place("mine:...", {})
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import LakebedError
from lakebed.model import FILE
from lakebed.pipeline.reports import IngestReport
from lakebed.targets.address import Address
from lakebed.testing.ingest_scenarios import SCENARIOS, Files, IngestScenario
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class Place:
    """A table by its address, and the settings that reach it."""

    address: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class IngestConformance:
    """What every engine promises into every target."""

    @pytest.fixture
    def place(self) -> Place:
        raise NotImplementedError("the inheriting class says where its table lies")

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        folder = tmp_path / "in box [1]"
        folder.mkdir()
        return folder

    def ingest(self, source: Path, place: Place, workdir: Path, **options: Any) -> IngestReport:
        return lakebed.ingest(source, place.address, workdir=workdir, **{**place.settings, **options})

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
    def test_scenario(self, scenario: IngestScenario, place: Place, source: Path, tmp_path: Path) -> None:
        workdir = tmp_path / "work"
        for call in scenario.calls:
            put_files(source, call.files)
            before = rows_of(place, workdir)
            if call.refused is not None:
                with pytest.raises(LakebedError) as refused:
                    self.ingest(source, place, workdir, **call.options)
                assert re.search(call.refused, str(refused.value)), refused.value
                assert refused.value.remedy
                assert rows_of(place, workdir) == before
                continue
            foretold = self.ingest(source, place, workdir, dry_run=True, **call.options)
            assert rows_of(place, workdir) == before
            done = self.ingest(source, place, workdir, **call.options)
            assert (done.loaded, done.removed) == (call.loaded, call.removed)
            assert (foretold.loaded, foretold.removed) == (call.loaded + call.rejected, call.removed) or call.rejected
            assert sum(one.action == "skip" for one in done.files) == call.skipped
            assert [one.action for one in foretold.files] == [one.action for one in done.files]
            [delivery] = done.deliveries
            assert delivery.rejected_rows == call.rejected
            assert delivery.reconciled is not False
            if call.said is not None:
                assert re.search(call.said, "\n".join(done.warnings))
            assert {**foretold.types} == {**done.types}
        if scenario.columns:
            found = table_of(place, workdir)
            chosen = found.select(list(scenario.columns)).to_pylist()
            texts = [tuple(_text(row[name]) for name in scenario.columns) for row in chosen]
            assert sorted(map(repr, texts)) == sorted(map(repr, scenario.rows))
            assert found.schema.field(FILE).type in (pa.string(), pa.large_string())
            if scenario.calls[-1].refused is None:
                assert {name: done.types[name] for name in scenario.types} == dict(scenario.types)
                again = self.ingest(source, place, workdir, **scenario.calls[-1].options)
                assert (again.loaded, again.removed, again.rows) == (0, 0, found.num_rows)


def put_files(folder: Path, files: Files) -> None:
    """Writes, or removes, these files."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def table_of(place: Place, workdir: Path) -> pa.Table:
    """The whole table."""
    workspace = Workspace.open({"workdir": str(workdir), **place.settings})
    found = workspace.target(Address.parse(place.address), read_only=True).read()
    return found if isinstance(found, pa.Table) else found.to_table()


def rows_of(place: Place, workdir: Path) -> list[str] | None:
    """Every row as text; None where there is no table."""
    workspace = Workspace.open({"workdir": str(workdir), **place.settings})
    if not workspace.target(Address.parse(place.address), read_only=True).state().exists:
        return None
    return sorted(map(repr, table_of(place, workdir).to_pylist()))


def _text(value: object) -> object:
    if isinstance(value, dict):
        return {name: _text(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_text(one) for one in value]
    return format(value, "f") if isinstance(value, Decimal) else None if value is None else str(value)
