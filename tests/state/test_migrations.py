"""Old ledgers open: every version that was released is kept here as a dump, and read by the code of today."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, inspect, text

from lakebed.errors import StateError
from lakebed.model import Slice
from lakebed.state.ledger import Ledger
from lakebed.state.migrations import MIGRATIONS, create_or_migrate, version_of

DUMPS = sorted((Path(__file__).parent / "versions").glob("v*.sql"))
TABLE = "iceberg:billing.report"


def restore(dump: Path, path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.executescript(dump.read_text())
    connection.close()
    return path


def shape(path: Path) -> dict[str, set[tuple[str, str, bool]]]:
    engine = create_engine(f"sqlite:///{path}")
    found = {
        table: {
            (column["name"], str(column["type"]), bool(column["nullable"]))
            for column in inspect(engine).get_columns(table)
        }
        for table in inspect(engine).get_table_names()
    }
    engine.dispose()
    return found


def test_there_is_a_dump_of_every_version() -> None:
    assert [dump.stem for dump in DUMPS] == [f"v{number}" for number in range(1, version_of(None) + 1)]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.stem)
def test_an_old_ledger_opens_with_all_it_knew(dump: Path, tmp_path: Path) -> None:
    path = restore(dump, tmp_path / "old.db")
    for ledger in (Ledger.read(path), Ledger.open(path)):
        [delivery] = ledger.deliveries()
        [load] = ledger.loads(TABLE)
        assert (delivery.slice, delivery.state) == (Slice("000123456789", "hourly", "2026-09"), "loaded")
        assert (load.rows, load.reconciled, load.added_columns) == (3, True, ("cost",))
        assert [one.name for one in ledger.identities(TABLE)] == ["line_item_unblended_cost"]
        assert len(ledger.schema_history(TABLE)) == 1
        assert [one.rows for one in ledger.files("iceberg:web.events")] == ([3] if dump.stem >= "v3" else [])
        [total] = ledger.sums(TABLE, load.slice, load.delivery)
        assert total.source == total.table


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.stem)
def test_a_migrated_ledger_has_the_shape_of_a_new_one(dump: Path, tmp_path: Path) -> None:
    old, new = restore(dump, tmp_path / "old.db"), tmp_path / "new.db"
    Ledger.open(old)
    Ledger.open(new)
    assert shape(old) == shape(new)


def add_a_note(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE lakebed_loads ADD COLUMN note VARCHAR"))


def test_steps_are_taken_once_and_in_one_transaction(tmp_path: Path) -> None:
    path = restore(DUMPS[0], tmp_path / "old.db")
    engine = create_engine(f"sqlite:///{path}")
    steps = (*MIGRATIONS, add_a_note)
    for _ in range(2):
        with engine.begin() as connection:
            create_or_migrate(connection, steps)
    with engine.begin() as connection:
        assert version_of(connection, steps) == len(steps) + 1
    assert ("note", "VARCHAR", True) in shape(path)["lakebed_loads"]
    engine.dispose()
    # The code that does not know this version leaves it alone.
    before = path.read_bytes()
    with pytest.raises(StateError, match=f"version {len(steps) + 1}, and this Lakebed knows up to {len(steps)}"):
        Ledger.open(path)
    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_the_old_version(tmp_path: Path) -> None:
    path = restore(DUMPS[0], tmp_path / "old.db")

    def broken(connection: Connection) -> None:
        add_a_note(connection)
        raise RuntimeError("killed in the middle")

    from lakebed.state.database import _file_engine, transaction

    engine = _file_engine(path, read_only=False)
    with pytest.raises(RuntimeError), transaction(engine) as connection:
        create_or_migrate(connection, (broken,))
    assert len(Ledger.open(path).loads()) == 1
    assert ("note", "VARCHAR", True) not in shape(path)["lakebed_loads"]
