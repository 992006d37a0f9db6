"""What happens to a load when the world moves under it: the source, the table, or the columns of a later file.

The Arrow engine runs the same kernels as Spark's, in this process.
"""

import os
from pathlib import Path

import duckdb
import pytest

from lakebed import retry
from lakebed.engines.protocols.load import FileDone
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.run import run
from lakebed.samples import SampleSpec, make_sample

pytestmark = pytest.mark.usefixtures("without_java")


class Loads(Observer):
    """Counts the times that a delivery's files were read."""

    def __init__(self) -> None:
        self.count = 0

    def loading(self, delivery: Delivery) -> None:
        self.count += 1


class WrittenOver(Loads):
    """The first file that was read is written over, once."""

    def converted(self, done: FileDone) -> None:
        if self.count == 1:
            os.utime(done.file.uri, (1_900_000_000, 1_900_000_000))


def test_a_delivery_written_over_while_it_is_read_in_place_is_read_again(tmp_path: Path) -> None:
    spec = SampleSpec(files=2, layout="overwrite", restate=False)
    make_sample(tmp_path / "bills", months=1, rows=20, columns=63, spec=spec)
    watch = WrittenOver()
    [one] = run("bills", "duckdb:costs", no_stage=True, observer=watch).deliveries
    assert (one.state, one.rows, one.reconciled) == ("loaded", 20, True)
    assert watch.count == 2


class Overtaken(Loads):
    """Another writer commits to the table before the first commit of this run, and again each time, if it persists."""

    def __init__(self, *, times: int) -> None:
        super().__init__()
        self._times = times

    def committing(self, delivery: Delivery) -> None:
        if self._times:
            self._times -= 1
            with duckdb.connect("costs") as connection:
                connection.execute(f"ALTER TABLE sample_report ADD COLUMN other_{self._times} INTEGER")


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CLOCK", retry.Clock(sleep=lambda _: None))


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("times", [1, 3])
def test_a_load_that_another_writer_overtakes_is_planned_again_on_what_it_left(tmp_path: Path, times: int) -> None:
    make_sample(tmp_path / "bills", months=2, rows=20, columns=63, spec=SampleSpec(files=1, restate=False))
    run("bills", "duckdb:costs", period="2026-09")
    watch = Overtaken(times=times)
    [one] = run("bills", "duckdb:costs", period="2026-10", observer=watch).deliveries
    assert (one.state, one.rows, one.reconciled, watch.count) == ("loaded", 20, True, 1)
    with duckdb.connect("costs", read_only=True) as connection:
        names = [name for name, *_ in connection.execute("DESCRIBE sample_report").fetchall()]
    assert [name for name in names if name.startswith("other_")] == [f"other_{at}" for at in reversed(range(times))]


def test_columns_that_only_a_later_file_has_are_columns_of_the_delivery(tmp_path: Path) -> None:
    folder = tmp_path / "bills"
    folder.mkdir()
    (folder / "a-1.csv").write_text("bill/PayerAccountId,lineItem/UnblendedCost\n1,0.5\n")
    (folder / "a-2.csv").write_text("bill/PayerAccountId,lineItem/UnblendedCost,product/new\n1,0.25,x\n")
    [one] = run(folder, "duckdb:costs#bill", report="mine", period="2026-10").deliveries
    assert (one.error, one.state, one.rows, one.reconciled) == (None, "loaded", 2, True)
    with duckdb.connect("costs", read_only=True) as connection:
        assert connection.execute("SELECT product_new FROM bill ORDER BY ALL").fetchall() == [("x",), (None,)]
