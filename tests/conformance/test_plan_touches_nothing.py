"""`lakebed plan` looks and touches nothing, not even a commit that a crash has left half done."""

from pathlib import Path

import pytest
from tests.support.file_trees import everything

import lakebed
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.samples import SampleSpec, make_sample
from lakebed.targets.parquet.target import ParquetTarget
from lakebed.testing.target import OCTOBER, Loader, contents, rows

SPEC = SampleSpec(months=1, rows=10, columns=63, files=1, restate=False)


@pytest.mark.processes
@pytest.mark.parametrize("step", ["recorded", "put"])
def test_a_crashed_commit_waits_for_whoever_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    monkeypatch.chdir(tmp_path)
    make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
    place = tmp_path / "lake" / "costs"
    place.parent.mkdir()

    def stop(name: str) -> None:
        if name.startswith(step):
            raise OSError("the power went off")

    old, new = rows(OCTOBER, range(3), delivery="old"), rows(OCTOBER, range(10, 12), delivery="new")
    Loader(ParquetTarget(str(place)), StorageSettings(), ()).load(old)
    crashing = ParquetTarget(str(place), checkpoint=stop)
    prepared = Loader(crashing, StorageSettings(), ()).prepare(new, replacing=OCTOBER, rows_per_file=1)
    with pytest.raises(OSError, match="power"):
        crashing.commit(prepared.state, prepared.staging, prepared.change)
    before = everything(tmp_path)
    planned = lakebed.plan(str(tmp_path / "bills"), f"parquet:{place}")
    assert [one.action for one in planned.deliveries] == ["load"]
    assert everything(tmp_path) == before
    # Whoever writes next finds the commit and finishes it.
    assert contents(ParquetTarget(str(place))) == new
    assert everything(tmp_path) != before


@pytest.mark.parametrize("target", ["duckdb:costs", "parquet:costs", "iceberg:costs"])
def test_where_nothing_is_nothing_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str) -> None:
    make_sample(tmp_path / "bills", months=1, rows=10, columns=63, spec=SPEC)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert [one.action for one in lakebed.plan(str(tmp_path / "bills"), target).deliveries] == ["load"]
    assert everything(tmp_path / "here") == {}
