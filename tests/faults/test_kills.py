"""A writer killed at any step leaves the old table or the new one to every reader, and the next run finishes its work.

The whole matrix is `make faults`, which writes docs/reliability.md; `make test-full` holds it against that page, and
`make test` runs a sample.
"""

import signal
from pathlib import Path

import pytest
from tests.faults.cells import cell_of, require_old_or_new, run_cell
from tests.faults.commands import COMMANDS, deliver
from tests.faults.page import keep_or_compare
from tests.faults.places import ON_SERVER

pytestmark = pytest.mark.processes

JOURNALS = ("Parquet", "Parquet on S3")
ON_ARROW = [(name, target) for name, command in COMMANDS.items() for target in command.targets if not command.spark]
ON_SPARK = [(name, target) for name, command in COMMANDS.items() for target in command.targets if command.spark]


def marked(cells: list[tuple[str, str]]) -> list[object]:
    return [
        pytest.param(*cell, id=" into ".join(cell), marks=[pytest.mark.server] if cell[1] in ON_SERVER else [])
        for cell in cells
    ]


@pytest.fixture(scope="session")
def bills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bills")
    deliver(folder)
    return folder


@pytest.mark.full
@pytest.mark.parametrize(("command", "target"), marked(ON_ARROW))
def test_killed_at_every_step(
    command: str, target: str, tmp_path: Path, bills: Path, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue("s3_server") if target in ON_SERVER else None
    ran = run_cell(cell_of(command, target, tmp_path, bills, server))
    assert {outcome.ended for outcome in ran.outcomes} == {-signal.SIGKILL}
    require_old_or_new(ran.outcomes, ran.memory, journal=target in JOURNALS)
    words = [outcome.saw["lakebed"] for outcome in ran.outcomes]
    assert words == sorted(words, reverse=True), "once new, a table does not become old again"
    assert set(words) == {"old", "new"}
    keep_or_compare(command, target, ran.words())


SAMPLE = [
    ("load", "DuckDB", ("ledger begin_load", "inserted", "committed", "reconciled")),
    ("load", "Parquet", ("copied", "recorded", "put", "delete", "retired", "ledger finish_load")),
    ("load", "Iceberg on SQLite", ("snapshot written", "catalog's metadata written", "committed")),
    ("load and retain", "Parquet", ("recorded", "put", "retired", "recorded 2", "put 3", "retired 2")),
    ("load and retain", "DuckDB", ("deleted", "recorded", "committed")),
    ("load and retain", "Iceberg on SQLite", ("snapshot written", "catalog's metadata written", "committed")),
    ("first load", "Iceberg on SQLite", ("exchanged", "created")),
    ("merge", "Parquet", ("file half written", "verified", "put 2", "replaced")),
    ("merge", "DuckDB", ("merged", "recorded", "committed")),
    ("merge", "Parquet on S3", ("recorded", "put")),
    ("compact", "Parquet", ("files written", "recorded", "put", "delete", "retired")),
    ("compact", "Iceberg on SQLite", ("files written", "snapshot written", "committed")),
    ("ingest", "Parquet", ("inspecting", "ledger begin_files", "recorded", "ingest committed", "ledger finish_files")),
    ("ingest", "DuckDB", ("file half written", "inserted", "committed", "ledger finish_files")),
    ("ingest", "Iceberg on SQLite", ("snapshot written", "catalog's metadata written", "committed")),
    ("ingest by keys", "Parquet", ("file written", "recorded", "merge committed", "ledger finish_files")),
    ("evolve", "Iceberg on SQLite", ("snapshot written", "catalog's metadata written", "committed")),
    ("evolve", "Parquet", ("recorded", "retired")),
    ("write", "Parquet", ("files written", "recorded", "write committed")),
    ("write", "DuckDB", ("recorded", "committed")),
    ("write", "Iceberg on SQLite", ("catalog's metadata written", "committed", "history written")),
]


@pytest.mark.parametrize(
    ("command", "target", "points"),
    [
        pytest.param(*one, id=" into ".join(one[:2]), marks=[pytest.mark.server] if one[1] in ON_SERVER else [])
        for one in SAMPLE
    ],
)
def test_a_sample_of_it(
    command: str,
    target: str,
    points: tuple[str, ...],
    tmp_path: Path,
    bills: Path,
    request: pytest.FixtureRequest,
) -> None:
    server = request.getfixturevalue("s3_server") if target in ON_SERVER else None
    ran = run_cell(cell_of(command, target, tmp_path, bills, server, points=points))
    assert [(outcome.point, outcome.ended) for outcome in ran.outcomes] == [(one, -signal.SIGKILL) for one in points]
    require_old_or_new(ran.outcomes, ran.memory, journal=target in JOURNALS)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(("command", "target"), marked(ON_SPARK))
def test_killed_with_a_spark_of_its_own(command: str, target: str, tmp_path: Path, bills: Path) -> None:
    points = {
        "load on Spark": ("converted", "committing", "ledger finish_load"),
        "merge on Spark": ("files written", "committed"),
    }[command]
    ran = run_cell(cell_of(command, target, tmp_path, bills, points=points))
    assert {outcome.ended for outcome in ran.outcomes} == {-signal.SIGKILL}
    require_old_or_new(ran.outcomes, ran.memory, journal=target in JOURNALS)
