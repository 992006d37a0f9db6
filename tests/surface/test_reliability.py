"""The page of points and outcomes names every step that the code names, so that no new one goes untried."""

import ast
from collections.abc import Iterator

import pytest
from tests.faults.commands import COMMANDS
from tests.faults.page import read_tables
from tests.faults.points import CHECKPOINTS, LEDGER_WRITES, OBSERVED
from tests.surface.source_tree import modules

# Which commands pass the steps of a room, and into which targets.
ROOMS = {
    "targets.parquet": ("Parquet", "Parquet on S3"),
    "targets.duckdb": ("DuckDB",),
    "targets.iceberg": ("Iceberg on SQLite", "Iceberg on REST"),
}


def named_steps() -> Iterator[tuple[str, str]]:
    """The room and the name of every checkpoint in the code, but for dbt's: tests/dbt/test_kills.py dies at those."""
    for module in modules():
        if module.name.startswith("dbt."):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pass_checkpoint", "self._checkpoint"):
                [name] = node.args
                if isinstance(name, ast.JoinedStr):
                    # The name of a file follows.
                    name = name.values[0]
                if isinstance(name, ast.Constant):
                    yield ".".join(module.name.split(".")[:2]), str(name.value).strip()


def tried(target: str) -> set[str]:
    return {step for columns in read_tables().values() for step in columns.get(target, {})}


def test_there_are_such_steps() -> None:
    rooms = {room for room, _ in named_steps()}
    rooms_of_commands = {
        "pipeline.ingest",
        "pipeline.run",
        "table.compact",
        "table.merge",
        "table.schema_history",
        "table.write",
    }
    assert {*ROOMS} | rooms_of_commands == rooms


@pytest.mark.parametrize("room", ROOMS)
def test_every_step_of_a_commit_was_tried(room: str) -> None:
    steps = {step for place, step in named_steps() if place == room}
    for target in ROOMS[room]:
        assert steps - tried(target) == set(), target


@pytest.mark.parametrize("target", ["Parquet", "DuckDB", "Iceberg on SQLite"])
def test_every_step_of_the_commands_was_tried(target: str) -> None:
    steps = {step for room, step in named_steps() if room not in ROOMS}
    assert steps == set(CHECKPOINTS)
    # A target that merges rows itself is not asked which keys match.
    elsewhere = {"keys matched"} if target == "DuckDB" else set()
    assert {*steps, *OBSERVED} - tried(target) - elsewhere == set()


@pytest.mark.parametrize("target", ["Parquet", "DuckDB", "Iceberg on SQLite"])
def test_every_write_to_the_ledger_was_tried(target: str) -> None:
    assert {f"ledger {name}" for name in LEDGER_WRITES} - tried(target) == set()


@pytest.mark.parametrize("command", [name for name, command in COMMANDS.items() if not command.spark])
def test_every_command_has_its_table(command: str) -> None:
    tables = read_tables()
    assert set(tables[command]) == set(COMMANDS[command].targets)
    assert all(tables[command].values())


def test_nothing_was_seen_but_old_and_new() -> None:
    seen = {
        word
        for columns in read_tables().values()
        for target, steps in columns.items()
        for words in steps.values()
        for word in words.split(", ")
    }
    assert seen == {"old", "new", "new*"}
    starred = {
        target
        for columns in read_tables().values()
        for target, steps in columns.items()
        if any("*" in words for words in steps.values())
    }
    assert starred <= {"Parquet", "Parquet on S3"}


def test_at_least_sixty_points() -> None:
    points = {
        (target, step) for columns in read_tables().values() for target, steps in columns.items() for step in steps
    }
    assert len(points) >= 60
