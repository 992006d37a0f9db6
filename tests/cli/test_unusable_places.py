"""Every command and every kind of place that cannot be used: absent, forbidden, unreachable, refused, full of something
else. Each is one clear error that names the place, with `--json` too, and never a traceback.

The commands run in one process that heeds permissions, against real files, a real S3 and real catalogs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import SUPPORT
from tests.support.permissions import heed_permissions
from tests.support.s3_server import S3Server

import lakebed
from lakebed.cli import COMMANDS
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import RESERVED_COLUMNS
from lakebed.samples import SampleSpec, make_sample

pytestmark = [pytest.mark.processes, pytest.mark.server]

PROGRAM = str(SUPPORT / "commands_in_turn.py")
SPEC = SampleSpec(months=1, rows=4, columns=63, files=1, restate=False)
ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
# A bill of one line, as a load leaves it.
BILL = pa.table(
    {
        "line_item_unblended_cost": pa.array([Decimal(1)], pa.decimal128(38, 18)),
        **{name: ["2026-10"] for name in RESERVED_COLUMNS},
    }
)
# Nobody listens on it: it is the discard port, and below those that are handed out.
CLOSED = "127.0.0.1:9"
SECRET = "hush-hush-hush-hush"

# How each command is called with the place that it reads from, and with the table that it works on. A command that has
# neither is called in a work directory that cannot be used.
WITH_SOURCE = {
    "run": "run {place} --target duckdb:good.duckdb",
    "plan": "plan {place} --target duckdb:good.duckdb",
    "check": "check queries --target duckdb:good.duckdb --against {place}",
    "discover": "discover {place}",
    "stage": "stage {place}",
    "reconcile": "reconcile --target duckdb:good.duckdb --source {place}",
    "merge": "merge {place} new --keys id",
    "merge on arrow": "merge {place} new --keys id --engine arrow",
    "merge, asked": "merge {place} new --keys id --dry-run",
    "write": "write {place} new",
    "ingest": "ingest {place} --target duckdb:good.duckdb --name ingested --format parquet",
}
WITH_TARGET = {
    "run": "run bills --target {place}",
    "plan": "plan bills --target {place}",
    "check": "check queries --target {place}",
    "load": "load --target {place} --workdir discovered",
    "reconcile": "reconcile --target {place} --source bills",
    "status": "status --rebuild {table}",
    "merge": "merge rows.parquet {table} --keys id",
    "merge on arrow": "merge rows.parquet {table} --keys id --engine arrow",
    "merge, asked": "merge rows.parquet {table} --keys id --dry-run",
    "evolve": "evolve {table} --schema rows.parquet",
    "evolve, asked": "evolve {table} --schema rows.parquet --dry-run",
    "history": "history {table}",
    "sums": "sums {table}",
    "diff": "diff {table} --period 2026-10",
    "receipt": "receipt SELECT/**/1 --target {table}",
    "rollback": "rollback {table} 1",
    "sweep": "sweep {table} --expire-days 1",
    "write": "write rows.parquet {table}",
    "ingest": "ingest rows.parquet --target {table}",
    "compact": "compact {table}",
    "views": "views {table} --print",
    "focus": "focus {table} --print",
    "focus, written": "focus duckdb:bill.duckdb#bill --to {table}",
}
# Commands that look at a table which is not there, or at none, have nothing to refuse.
MAY_SUCCEED_WITHOUT_TABLE = {"plan", "merge, asked", "evolve, asked", "sweep", "history", "status", "load"}
WITH_WORKDIR = {
    "run": "run bills --target duckdb:good.duckdb",
    "plan": "plan bills --target duckdb:good.duckdb",
    "discover": "discover bills",
    "stage": "stage bills",
    "load": "load --target duckdb:good.duckdb",
    "status": "status",
    "status, rebuilt": "status --rebuild duckdb:good.duckdb#good",
    "reconcile": "reconcile --target duckdb:good.duckdb",
    "evolve": "evolve parquet:evolved --schema rows.parquet",
    "history": "history parquet:good",
    "sweep": "sweep",
    "ingest": "ingest rows.parquet --target parquet:ingested",
}
# `publish` takes a branch, which only a table that is there can have.
NEITHER = {"demo", "sample", "lineage", "impact", "ui", "publish", "doctor", "dbt"}


@dataclass(frozen=True)
class Cell:
    """A command in a place: how it is called, with which settings, and what its error must name, one or the other."""

    command: str
    words: tuple[str, ...]
    settings: str
    names: str
    may_succeed: bool = False

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class World:
    """A folder with deliveries, rows and tables that are as they should be, and places that are not."""

    folder: Path
    server: S3Server
    bucket: str

    @property
    def reachable(self) -> str:
        return settings_text(self.server.settings)

    @property
    def unreachable(self) -> str:
        return settings_text(replace(self.server.settings, endpoint_url=f"http://{CLOSED}"))

    @property
    def refused(self) -> str:
        return settings_text(replace(self.server.settings, secret_access_key=SECRET))

    def run(self, cells: Sequence[Cell]) -> Iterator[tuple[Cell, dict[str, object]]]:
        """What became of every cell."""
        ended = subprocess.run(
            [sys.executable, PROGRAM],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(SUPPORT.parent.parent)},
            input=json.dumps([{"words": [*cell.words, "--json"], "settings": cell.settings} for cell in cells]),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            preexec_fn=heed_permissions,
        )
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        assert len(lines) == len(cells)
        yield from zip(cells, lines, strict=True)


def settings_text(storage: StorageSettings) -> str:
    named = {
        "endpoint_url": storage.endpoint_url,
        "region": storage.region,
        "access_key_id": storage.access_key_id,
        "secret_access_key": storage.secret_access_key,
    }
    return "[storage]\n" + "".join(f'{name} = "{value}"\n' for name, value in named.items())


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    bucket = s3_server.new_bucket("places")
    make_sample(folder / "bills", spec=SPEC)
    pq.write_table(ROWS, folder / "rows.parquet")
    for target in (f"duckdb:{folder / 'good.duckdb'}#good", folder / "good", "iceberg:billing.good"):
        lakebed.merge(ROWS, target, keys="id", workdir=folder / ".lakebed")
    lakebed.write(BILL, f"duckdb:{folder / 'bill.duckdb'}#bill", workdir=folder / ".lakebed")
    lakebed.discover(folder / "bills", workdir=folder / "discovered")
    (folder / "text").write_text("nothing but words\n" * 100)
    (folder / "queries").mkdir()
    (folder / "queries" / "all.sql").write_text("SELECT id FROM good")
    for name in ("locked", "sealed"):
        (folder / name).mkdir()
    pq.write_table(ROWS, folder / "sealed" / "rows.parquet")
    (folder / "locked").chmod(0o555)
    (folder / "sealed").chmod(0)
    yield World(folder, s3_server, bucket)
    for name in ("locked", "sealed"):
        (folder / name).chmod(0o755)


def faults_of(cell: Cell, ended: dict[str, object]) -> Iterator[str]:
    """What is wrong with how a command refused."""
    if ended["unhandled"]:
        yield f"not handled: {ended['unhandled']}"
        return
    if ended["code"] == 0 and cell.may_succeed:
        return
    if ended["code"] not in (1, 2):
        yield f"exit code {ended['code']}"
    if "Traceback" in str(ended["err"]):
        yield str(ended["err"])
    if SECRET in str(ended["out"]) + str(ended["err"]):
        yield "the secret is told"
    try:
        answer = json.loads(str(ended["out"]))
    except json.JSONDecodeError:
        yield f"not one object of JSON: {ended['out']!r}; stderr {ended['err']!r}"
        return
    messages = [answer["error"]["message"]] if "error" in answer else []
    messages += [one["error"] for one in answer.get("deliveries", ()) if one.get("error")]
    messages += [one["error"]["message"] for one in answer.get("sources", {}).values() if "error" in one]
    if not messages:
        yield f"no error in {answer}"
    for message in messages:
        if not any(name in message for name in cell.names.split("|")):
            yield f"{cell.names} is not named: {message}"


def require_clear_refusals(world: World, cells: Sequence[Cell]) -> None:
    wrong = [f"{cell}\n    {fault}" for cell, ended in world.run(cells) for fault in faults_of(cell, ended)]
    assert not wrong, f"{len(wrong)} of {len(cells)}:\n" + "\n".join(wrong)


def cells(
    commands: dict[str, str],
    place: str,
    settings: str,
    names: str,
    *,
    table: str | None = None,
    may_succeed: bool = False,
    finds_nothing: bool = False,
) -> list[Cell]:
    return [
        Cell(
            command,
            tuple(word.format(place=place, table=table or place) for word in words.split()),
            settings,
            names,
            # That there is nothing is what `discover` was asked.
            (may_succeed and command in MAY_SUCCEED_WITHOUT_TABLE) or (finds_nothing and command == "discover"),
        )
        for command, words in commands.items()
    ]


def test_every_command_is_in_the_matrix() -> None:
    called = {words.split()[0] for one in (WITH_SOURCE, WITH_TARGET, WITH_WORKDIR) for words in one.values()}
    assert called | NEITHER == COMMANDS.keys()


def test_sources_that_cannot_be_read(world: World) -> None:
    require_clear_refusals(
        world,
        [
            *cells(WITH_SOURCE, "absent", world.reachable, "absent"),
            *cells(WITH_SOURCE, "sealed", world.reachable, "sealed"),
            *cells(WITH_SOURCE, "sealed/rows.parquet", world.reachable, "sealed/rows.parquet"),
            *cells(WITH_SOURCE, "text", world.reachable, "text", finds_nothing=True),
            *cells(WITH_SOURCE, "text/below", world.reachable, "text/below"),
            *cells(
                WITH_SOURCE, f"{world.bucket}/absent", world.reachable, f"{world.bucket}/absent", finds_nothing=True
            ),
            *cells(WITH_SOURCE, "s3://no-such-bucket/x", world.reachable, "s3://no-such-bucket/x"),
            *cells(WITH_SOURCE, f"{world.bucket}/x", world.refused, f"{world.bucket}/x"),
        ],
    )


def test_sources_that_cannot_be_reached(world: World) -> None:
    require_clear_refusals(world, cells(WITH_SOURCE, f"{world.bucket}/x", world.unreachable, f"{world.bucket}/x"))


def test_tables_that_cannot_be_used(world: World) -> None:
    reachable = world.reachable
    found = []
    for kind, place, table in (
        ("duckdb", "duckdb:{}/costs", "duckdb:{}/costs#t"),
        ("parquet", "parquet:{}/costs", "parquet:{}/costs"),
    ):
        for folder in ("locked", "sealed", "text", "locked/deep"):
            names = folder.partition("/")[0]
            commands = {name: words for name, words in WITH_TARGET.items() if name != "rollback" or kind == "iceberg"}
            found += cells(
                commands, place.format(folder), reachable, names, table=table.format(folder), may_succeed=True
            )
    for place, settings in (
        ("s3://no-such-bucket/costs", reachable),
        (f"{world.bucket}/costs", world.refused),
    ):
        found += cells(WITH_TARGET, f"parquet:{place}", settings, place.removesuffix("/costs"))
    found += cells(WITH_TARGET, "duckdb:text", reachable, "text", table="duckdb:text#t")
    require_clear_refusals(world, [cell for cell in found if cell.command != "rollback"])


def test_tables_that_cannot_be_reached(world: World) -> None:
    place = f"{world.bucket}/costs"
    found = cells(WITH_TARGET, f"parquet:{place}", world.unreachable, world.bucket)
    require_clear_refusals(world, [cell for cell in found if cell.command != "rollback"])


CATALOGS = {
    "a server that nobody answers on": ({"type": "rest", "uri": f"http://{CLOSED}"}, CLOSED),
    "a database that nobody answers on": (
        {"type": "sql", "uri": f"postgresql+psycopg://me:{SECRET}@{CLOSED}/db"},
        "elsewhere",
    ),
    "a database that is none": ({"type": "sql", "uri": "sqlite:///text", "warehouse": "file:///tmp/none"}, "elsewhere"),
    "a database that cannot be made": (
        {"type": "sql", "uri": "sqlite:///locked/catalog.db", "warehouse": "file:///tmp/none"},
        "locked",
    ),
    "a catalog of no known kind": ({"type": "banana", "uri": f"http://{CLOSED}"}, "elsewhere"),
    "a catalog without an address": ({"type": "rest"}, "elsewhere"),
}


def catalog_text(name: str, properties: dict[str, str]) -> str:
    return f"[catalog.{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in properties.items())


def test_catalogs_that_cannot_be_used(world: World) -> None:
    found = []
    for properties, names in CATALOGS.values():
        settings = world.reachable + catalog_text("elsewhere", properties)
        found += cells(
            WITH_TARGET,
            "iceberg:elsewhere:billing",
            settings,
            names + ("|there is no" if "locked" in names else ""),
            table="iceberg:elsewhere:billing.t",
            may_succeed="locked" in names,
        )
    signed = {**world.server.catalog_properties, "client.secret-access-key": SECRET}
    settings = world.reachable + catalog_text("elsewhere", signed)
    found += cells(WITH_TARGET, "iceberg:elsewhere:billing", settings, "elsewhere", table="iceberg:elsewhere:billing.t")
    require_clear_refusals(world, found)


def test_warehouses_that_cannot_be_used(world: World) -> None:
    found = []
    for number, (warehouse, settings) in enumerate(
        (
            (f"file://{world.folder}/locked/warehouse", world.reachable),
            (f"file://{world.folder}/text/warehouse", world.reachable),
            (f"{world.bucket}/warehouse", world.refused),
            (f"{world.bucket}/warehouse", world.unreachable),
        )
    ):
        properties = {"type": "sql", "uri": f"sqlite:///{world.folder}/catalog-{number}.db", "warehouse": warehouse}
        found += cells(
            {name: words for name, words in WITH_TARGET.items() if name in ("run", "load", "merge", "evolve")},
            "iceberg:elsewhere:billing",
            settings + catalog_text("elsewhere", properties),
            warehouse.removeprefix("file://"),
            table="iceberg:elsewhere:billing.t",
        )
    require_clear_refusals(world, found)


def test_ledgers_that_cannot_be_used(world: World) -> None:
    found = []
    for workdir in ("locked/work", "sealed/work", "text/work"):
        names = workdir.partition("/")[0]
        commands = {name: f"{words} --workdir {workdir}" for name, words in WITH_WORKDIR.items()}
        found += cells(commands, "", world.reachable, f"{names}|the ledger knows no load", may_succeed=True)
    for url, names in (
        (f"postgresql+psycopg://me:{SECRET}@{CLOSED}/db", "ledger"),
        ("sqlite:///text", "text"),
        ("sqlite:///sealed/ledger.db", "sealed"),
        ("sqlite:///locked/ledger.db", "locked"),
        ("banana://x", "ledger"),
    ):
        settings = f'ledger = "{url}"\n' + world.reachable
        found += cells(WITH_WORKDIR, "", settings, f"{names}|the ledger knows no load", may_succeed=True)
    require_clear_refusals(world, found)


FILES = [
    ("sample locked/bills --months 1 --rows 4", "locked"),
    ("sample text/bills --months 1 --rows 4", "text"),
    ("lineage sealed/query.sql", "sealed"),
    ("lineage query.sql --schema sealed/schema.json", "sealed"),
    ("ui nowhere.sql --no-open", "nowhere.sql"),
    ("ui sealed/query.sql --no-open", "sealed"),
    ("ui query.sql --schema duckdb:text --no-open", "text"),
    ("lineage query.sql --schema duckdb:text", "text"),
    ("lineage query.sql --schema duckdb:sealed/file", "sealed"),
    ("lineage query.sql --schema parquet:text", "text"),
    ("lineage query.sql --schema parquet:sealed", "sealed"),
    ("lineage query.sql --schema iceberg:elsewhere:billing", "elsewhere"),
    ("lineage query.sql --schema dbt:text", "text"),
    ("lineage query.sql --format html --output locked/page.html", "locked"),
    ("lineage query.sql --format duckdb --output locked/file.duckdb", "locked"),
    ("evolve parquet:other --schema text.parquet", "text.parquet"),
    ("evolve parquet:other --schema sealed/rows.parquet", "sealed"),
    ("run bills --target duckdb:good.duckdb --metrics-file locked/metrics", "locked"),
]


def test_files_beside_them(world: World) -> None:
    (world.folder / "query.sql").write_text("SELECT a FROM t")
    (world.folder / "text.parquet").write_text("no Parquet at all")
    settings = world.reachable + catalog_text("elsewhere", {"type": "rest", "uri": f"http://{CLOSED}"})
    require_clear_refusals(world, [Cell("", tuple(words.split()), settings, names) for words, names in FILES])
