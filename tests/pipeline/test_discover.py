"""A source in which there is nothing to load is an error that is said once."""

from pathlib import Path

import pytest

from lakebed.errors import SourceError
from lakebed.pipeline.discover import discover_to_load
from lakebed.pipeline.progress import Observer
from lakebed.samples import SampleSpec, make_sample
from lakebed.source.filters import DiscoverFilters
from lakebed.workspace import Workspace


class Warned(Observer):
    """Keeps what a user would be warned of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warned(self, message: str) -> None:
        self.warnings.append(message)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.open({"workdir": str(tmp_path / "work")})


def test_what_ends_the_run_is_no_warning_too(tmp_path: Path, workspace: Workspace) -> None:
    make_sample(tmp_path / "bills", spec=SampleSpec(months=1, rows=4, columns=63, restate=False))
    seen = Warned()
    with pytest.raises(SourceError, match="fits the filters; 2 manifests are of other periods"):
        discover_to_load(workspace, str(tmp_path / "bills"), DiscoverFilters(period="2020-01"), seen)
    assert seen.warnings == []


def test_other_warnings_are_passed_on(tmp_path: Path, workspace: Workspace) -> None:
    truth = make_sample(tmp_path / "bills", spec=SampleSpec(months=1, rows=4, columns=63, restate=False))
    (tmp_path / "bills" / truth.current[0].files[0]).unlink()
    seen = Warned()
    assert len(discover_to_load(workspace, str(tmp_path / "bills"), DiscoverFilters(), seen).deliveries) == 1
    [warning] = seen.warnings
    assert "1 of 4 files are missing" in warning
