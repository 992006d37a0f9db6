"""What is interrupted: each command with the state before it, and what is compared after it. A new one is a new row."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from tests.faults.places import PLACES, Place

import lakebed
from lakebed.errors import LakebedError
from lakebed.pipeline.progress import Observer
from lakebed.samples import SampleSpec, make_sample
from lakebed.table.as_of import TableLoads
from lakebed.table.history import history
from lakebed.workspace import Workspace

SPEC = SampleSpec(months=2, rows=24, columns=63)
BILL = ("lakebed_period", "lakebed_delivery", "identity_line_item_id", "line_item_unblended_cost")
OLD = pa.table({"id": list(range(60)), "v": ["old"] * 60, "part": [str(number % 3) for number in range(60)]})
# Every fifth row changes, ten are new, and a column comes along, so that the history of the schema is written too.
IDS = [*range(0, 60, 5), *range(60, 70)]
CHANGES = pa.table({"id": IDS, "v": ["new"] * 22, "part": [str(number % 3) for number in IDS], "tag": ["x"] * 22})
Memory = dict[str, object]
LOCAL = ("Parquet", "DuckDB", "Iceberg on SQLite")


@dataclass(frozen=True)
class Command:
    """`prepare` makes the old state, `act` is interrupted and then run again, `remember` is what else must be there."""

    name: str
    columns: tuple[str, ...]
    prepare: Callable[[Place, Path], object]
    act: Callable[[Place, Path, Observer], object]
    remember: Callable[[Place], Memory]
    targets: tuple[str, ...] = tuple(PLACES)
    rooms: tuple[str, ...] = ()  # where it is interrupted, if not everywhere
    spark: bool = False
    told_by: Callable[[Place], object] | None = None  # what tells old from new where no row does


def deliver(folder: Path) -> None:
    """Two days of a bill: the earlier month is delivered again with other sums on the second."""
    # One file fewer than before, so that one of the table's goes.
    for day, restate, files in (("before", False, 3), ("after", True, 2)):
        make_sample(folder / day, spec=replace(SPEC, restate=restate, files=files))


def load(
    place: Place, source: Path, observer: Observer | None = None, *, day: str = "after", period: str | None = None
) -> None:
    report = lakebed.run(str(source / day), place.address, period=period, workdir=place.workdir, observer=observer)
    if errors := [one.error for one in report.deliveries if one.error]:
        raise LakebedError("\n".join(errors))


def load_nothing(place: Place, source: Path) -> None:
    """The table is not there yet."""


def load_one_month(place: Place, source: Path, observer: Observer) -> None:
    load(place, source, observer, period="2026-10")


def loads_of(place: Place) -> Memory:
    """What the ledger says, and what lies about."""
    workspace = Workspace.open({"workdir": str(place.workdir)})
    with workspace.ledger() as ledger:
        return {
            "states": sorted({one.state for one in ledger.deliveries()}),
            "loads": sorted(f"{one.slice.period} {one.delivery} {one.state} {one.rows}" for one in ledger.loads()),
            "columns": sorted(one.original for one in ledger.identities(workspace.target(place.address).address)),
            "history": _changes(place),
            "orphans": [orphan.folder for orphan in ledger.orphans()],
            "leftovers": place.leftovers(),
        }


def merge_old(place: Place, source: Path) -> None:
    lakebed.merge(OLD, place.address, keys="id", engine="arrow", partition_by=place.partition_by, workdir=place.workdir)


def merge_with(engine: str) -> Callable[[Place, Path, Observer], object]:
    def merge(place: Place, source: Path, observer: Observer) -> None:
        lakebed.merge(CHANGES, place.address, keys="id", engine=engine, workdir=place.workdir)  # type: ignore[arg-type]

    return merge


def write(place: Place, source: Path, observer: Observer) -> None:
    """Its number is what keeps the next run from adding the rows again."""
    lakebed.write(CHANGES, place.address, txn=("faults", 1), workdir=place.workdir)


def write_slice(place: Place, source: Path, observer: Observer) -> None:
    rows = CHANGES.filter(pc.equal(CHANGES["part"], "1"))
    lakebed.write(rows, place.address, mode="replace_slice", slice={"part": "1"}, workdir=place.workdir)


def deliver_files(place: Place) -> Path:
    """Where the files of a place are put: beside the table, of which a copy is what each death begins with."""
    folder = place.folder / "files"
    folder.mkdir(exist_ok=True)
    return folder


def ingest_before(place: Place, source: Path) -> None:
    folder = deliver_files(place)
    for name in ("c.csv", "d.csv"):
        (folder / name).unlink(missing_ok=True)
    (folder / "a.csv").write_text("id,v\n1,old\n2,old\n")
    (folder / "b.csv").write_text("id,v\n3,stays\n")
    lakebed.ingest(folder, place.address, workdir=place.workdir)


def ingest(place: Place, source: Path, observer: Observer) -> None:
    """A path with a new content, a new file with a new column, and one that is equal to another."""
    folder = deliver_files(place)
    (folder / "a.csv").write_text("id,v\n2,new\n4,new\n")
    (folder / "c.csv").write_text("id,v,tag\n5,new,x\n")
    (folder / "d.csv").write_text("id,v\n3,stays\n")
    lakebed.ingest(folder, place.address, workdir=place.workdir, observer=observer)


def ingest_by_keys(place: Place, source: Path, observer: Observer) -> None:
    folder = deliver_files(place)
    (folder / "a.csv").write_text("id,v\n2,new\n4,new\n")
    (folder / "c.csv").write_text("id,v,tag\n5,new,x\n")
    lakebed.ingest(folder, place.address, keys="id", workdir=place.workdir, observer=observer)


def files_ingested(place: Place) -> Memory:
    """What the ledger knows of the files, and what lies about."""
    workspace = Workspace.open({"workdir": str(place.workdir)})
    with workspace.ledger() as ledger:
        known = ledger.files(workspace.target(place.address).address)
        return {
            **columns_of(place),
            "files": sorted(f"{Path(one.path).name} {one.identity} {one.state}" for one in known),
            "orphans": [orphan.folder for orphan in ledger.orphans()],
            "leftovers": place.leftovers(),
        }


def files_merged(place: Place) -> Memory:
    """The same; what a merge leaves beside its table when it dies is for `lakebed sweep`."""
    return {name: found for name, found in files_ingested(place).items() if name != "leftovers"}


def merge_piece_by_piece(place: Place, source: Path) -> None:
    """Several small files in each partition."""
    for first in range(0, OLD.num_rows, 15):
        rows = OLD.slice(first, 15)
        lakebed.merge(
            rows, place.address, keys="id", engine="arrow", partition_by=place.partition_by, workdir=place.workdir
        )


def compact(place: Place, source: Path, observer: Observer) -> None:
    lakebed.compact(place.address, sort_by="id", workdir=place.workdir)


def evolve(place: Place, source: Path, observer: Observer) -> None:
    lakebed.evolve(place.address, {"id": "bigint", "late": "string"}, workdir=place.workdir)


def names_of(place: Place) -> str:
    """The columns of the table, as Lakebed reads it."""
    opened = Workspace.open({"workdir": str(place.workdir)}).target(place.address, read_only=True)
    return " ".join(opened.state().schema.names)


def files_of(place: Place) -> str:
    """How many files the table has, as Lakebed reads it."""
    opened = Workspace.open({"workdir": str(place.workdir)}).target(place.address, read_only=True)
    return f"{len(opened.state().files)} files"


def columns_of(place: Place) -> Memory:
    """The columns of the table, of which none is twice, and who brought them."""
    workspace = Workspace.open({"workdir": str(place.workdir)})
    opened = workspace.target(place.address)
    with workspace.ledger_for_reading() as ledger:
        recorded = ledger.schema_history(opened.address)
    assert history(place.address, workdir=place.workdir).changes == recorded
    return {"columns": opened.state().schema.names, "rows": opened.state().rows, "history": _changes(place)}


def _changes(place: Place) -> list[str]:
    """Each change of the table's columns, once."""
    changes = history(place.address, workdir=place.workdir).changes
    return sorted(f"{one.change.kind} {one.change.column} {one.change.type_after} {one.delivery}" for one in changes)


def load_before(place: Place, source: Path) -> None:
    load(place, source, day="before")


def load_retained(place: Place, source: Path, observer: Observer) -> None:
    """What the newer delivery replaces is to be had afterwards."""
    report = lakebed.run(str(source / "after"), place.address, workdir=place.workdir, observer=observer, retain="all")
    if errors := [one.error for one in report.deliveries if one.error]:
        raise LakebedError("\n".join(errors))


def loads_kept(place: Place) -> Memory:
    """The same, and what every delivery sums up to that was ever in the table: nothing may be lost in between."""
    workspace = Workspace.open({"workdir": str(place.workdir)})
    target = workspace.target(place.address)
    with workspace.ledger_for_reading() as ledger:
        loads = TableLoads.of(target, ledger)
    held = [loads.rows_of(load) for load in loads.log.loads]
    sums = [one.target.totals(one.slice, ("line_item_unblended_cost",)) for one in held]
    return {
        **loads_of(place),
        # A delivery whose run died before it told the ledger is loaded again, and is then there twice.
        "kept": sorted(
            {
                f"{one.load.slice.period} {one.load.delivery} {said.rows} {said.sums}"
                for one, said in zip(held, sums, strict=True)
            }
        ),
    }


COMMANDS = {
    command.name: command
    for command in (
        Command("first load", BILL, load_nothing, load_one_month, loads_of, rooms=("targets", "libraries")),
        Command("load", BILL, load_before, load, loads_of),
        Command("load and retain", BILL, load_before, load_retained, loads_kept, LOCAL, rooms=("targets", "libraries")),
        Command("merge", ("id", "v"), merge_old, merge_with("arrow"), columns_of),
        Command("merge on DuckDB", ("id", "v"), merge_old, merge_with("duckdb"), columns_of, ("Parquet",)),
        Command("write", ("id", "v"), merge_old, write, columns_of),
        Command("write a slice", ("id", "v"), merge_old, write_slice, columns_of, LOCAL),
        Command(
            "compact",
            ("id", "v"),
            merge_piece_by_piece,
            compact,
            columns_of,
            ("Parquet", "Parquet on S3", "Iceberg on SQLite", "Iceberg on REST"),
            told_by=files_of,
        ),
        Command("ingest", ("id", "v"), ingest_before, ingest, files_ingested),
        Command("ingest by keys", ("id", "v"), ingest_before, ingest_by_keys, files_merged, LOCAL),
        Command("evolve", ("id", "v"), merge_old, evolve, columns_of, told_by=names_of),
        Command("load on Spark", BILL, load_before, load, loads_of, ("Parquet", "Iceberg on SQLite"), spark=True),
        Command("merge on Spark", ("id", "v"), merge_old, merge_with("spark"), columns_of, ("DuckDB",), spark=True),
    )
}
