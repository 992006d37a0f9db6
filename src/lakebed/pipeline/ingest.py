"""`lakebed ingest`: files of any kind into a table: found, known by checksum, typed, planned, committed once."""

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import pyarrow as pa

from lakebed.checkpoints import pass_checkpoint
from lakebed.engines.protocols.load import InspectJob
from lakebed.engines.registry import require_engine
from lakebed.errors import Changed, ClaimHeld, ConfigError, LakebedError, NotFound, SourceError, StorageError
from lakebed.merge_core.spec import MergeStrategy
from lakebed.model import FILE, Delivery, DeliveryState, Slice
from lakebed.pipeline.context import RunContext
from lakebed.pipeline.ingest_commit import CommittedFiles, commit_files, foretell_files
from lakebed.pipeline.ingest_plan import (
    Decided,
    DecidedFile,
    KnownFile,
    decide_files,
    describe_dialects,
    digits_of,
    require_some,
)
from lakebed.pipeline.ingest_spec import IngestSpec
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import DeliveryReport, FileReport, IngestReport, TableReport
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.pipeline.steps import Steps
from lakebed.pipeline.tables import parse_target
from lakebed.retry import count_retries, retry
from lakebed.schema.names import normalize_column_name
from lakebed.source.files import FileFormat, FoundFiles, find_files, name_of
from lakebed.state.claims import Claim
from lakebed.state.ledger import Ledger
from lakebed.state.records import FileRecord
from lakebed.storage import absolute, system_errors
from lakebed.table.events import task
from lakebed.table.evolve import SchemaLike
from lakebed.targets.address import Address
from lakebed.targets.base import TableState, Target
from lakebed.targets.registry import require_target
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Files that are written over while they are read are read again.
READINGS = 3
# The period of what has none; a slice of a delivery names one.
FILES = "files"


def ingest(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    format: FileFormat | None = None,
    name: str | None = None,
    infer: bool = True,
    types: SchemaLike | None = None,
    keys: Sequence[str] | str | None = None,
    strategy: MergeStrategy = "upsert",
    dedup_order_by: Sequence[str] | str | None = None,
    partition_by: Sequence[str] | str | None = None,
    delimiter: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    assume_new: bool = False,
    dry_run: bool = False,
    workdir: str | os.PathLike[str] | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    **settings: Unpack[RunSettings],
) -> IngestReport:
    """Loads files of a folder, a prefix or a pattern that are not loaded yet, in one commit.

    CSV, JSON and Parquet, whose columns may change from file to file. A file is known by the checksum of its content,
    which its rows carry in `lakebed_file`: equal files are skipped wherever they lie, and a path with a new content
    replaces its own rows. With `keys` rows are merged instead, and none is removed.

    Types are inferred over all files, and hold every value exactly; `types` says what columns are, in any form that
    `evolve` takes a schema, and with `infer=False` all others are text. How a CSV is written is found out and reported,
    unless `delimiter`, `quote` and `encoding` say it.

    Which path had which content is known by the ledger alone. Where it knows none of a table's files, files that are
    not in the table may be new, or new versions of files that are: they are refused, unless you `assume_new` ones.

    >>> report = lakebed.ingest("exports/*.csv", "duckdb:shop.duckdb", name="orders")  # doctest: +SKIP
    >>> report.loaded, report.types["order_id"]  # doctest: +SKIP
    (1200, 'int32')
    """
    started = time.monotonic()
    spec = IngestSpec.of(
        format_=format,
        infer=infer,
        types=types,
        keys=keys,
        strategy=strategy,
        dedup_order_by=dedup_order_by,
        partition_by=partition_by,
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
    )
    workspace = open_workspace(workdir, settings)
    place, watch, steps = os.fspath(source), observer or Observer(), Steps()
    address = _address(parse_target(target), name, place)
    require_engine("spark", "an ingest")
    require_target(address.kind, str(address))
    with steps.step("discover"), system_errors(place):
        found = find_files(place, workspace.storage, format_=spec.format)
    _require_apart(address, found, place)
    watch.discovered(1, 0)
    with (
        workspace.ledger_for_reading() if dry_run else workspace.ledger() as ledger,
        RunContext(workspace, ledger, place, watch, spark, steps=steps) as context,
    ):
        task = _Ingest(context, spec, address, name or address.table or name_of(place), found, dry_run, assume_new)
        with steps.of_delivery(task.slice), system_errors(str(address)):
            report = task.run()
        seconds = round(time.monotonic() - started, 3)
        [delivery] = report.deliveries
        delivery = replace(delivery, seconds=seconds, steps=dict(steps.seconds))
        if not dry_run:
            watch.finished(delivery)
        return replace(report, deliveries=(delivery,), seconds=seconds)


def _address(given: Address, name: str | None, source: str) -> Address:
    """The table that is meant: the one that is named, or one that is called like its source."""
    if name is not None:
        return given.with_table(name)
    return given if given.names_table else given.with_table(normalize_column_name(name_of(source)))


def _require_apart(address: Address, found: FoundFiles, source: str) -> None:
    """Refuses a table that lies among the files that are to go into it: its own files would be the next to load."""
    folder = address.data_folder
    if folder is not None and f"{folder}/".startswith(f"{found.root.rstrip('/')}/"):
        raise ConfigError(
            f"the table {address} lies inside of its own source {source}",
            remedy="Put it elsewhere: its files would be loaded into it by the next ingest.",
        )


@dataclass
class _Ingest:
    """One ingest: its readings of the files, and the attempts to commit them."""

    context: RunContext
    spec: IngestSpec
    address: Address
    name: str
    found: FoundFiles
    dry_run: bool
    assume_new: bool = False
    doubts: tuple[str, ...] = ()

    @property
    def slice(self) -> Slice:
        return Slice(absolute(self.context.source), self.name, FILES)

    @property
    def workspace(self) -> Workspace:
        return self.context.workspace

    @property
    def ledger(self) -> Ledger:
        return self.context.ledger

    def run(self) -> IngestReport:
        if self.dry_run:
            return self._foretell()
        try:
            with self.ledger.claim_load(self.context.target(self.address).address, self.slice) as claim:
                for _ in range(READINGS - 1):
                    try:
                        return self._load(claim)
                    except Changed:
                        self._look_again()
                return self._load(claim)
        except ClaimHeld as busy:
            # Another run is at it: what it loads is not ours to load.
            return self._report(self.context.target(self.address), (), state="loading", warnings=(str(busy),))

    def _look_again(self) -> None:
        found = find_files(self.context.source, self.context.storage, format_=self.spec.format)
        self.found = replace(found, warnings=self.found.warnings)

    def _load(self, claim: Claim) -> IngestReport:
        with self.context.steps.step("inspect"):
            known = self._known(self.context.target(self.address))

        def attempt() -> IngestReport:
            return self._commit(claim, known)

        with count_retries() as count:
            report = retry(attempt, what=f"the ingest into {self.address}")
        [delivery] = report.deliveries
        return replace(report, deliveries=(replace(delivery, retries=count.retries),))

    def _commit(self, claim: Claim, known: Sequence[KnownFile]) -> IngestReport:
        # Opened again: with a session it may be known that workers have disks of their own.
        target = self.context.target(self.address)
        state = target.state()
        decided = self._decide(target, state, known)
        skipped = [one.known.record(loaded=True) for one in decided.files if one.action == "skip"]
        if not decided.loads and not decided.removed:
            self.ledger.finish_files(claim, target.address, self._with_rows(target, skipped))
            return self._report(target, decided.files, state="loaded", skipped=True)
        delivery = self._delivery(decided)
        self.context.observer.loading(delivery)
        with task("ingest", target.address) as told:
            told.reads(sorted({one.file.uri.rpartition("/")[0] for one in decided.loads}))
            warnings = self._warnings(decided)
            committed = commit_files(
                self.context, claim, self.address, state, self.spec, decided, delivery, told, warnings=warnings
            )
            originals = {column.name: column.original or column.name for column in committed.plan.columns}
            told.wrote(committed.plan.evolution, originals)
        pass_checkpoint("ingest committed")
        loaded = [one.record(rows=one.facts.rows if one.facts else 0, loaded=True) for one in decided.loads]
        self.ledger.finish_files(
            claim,
            target.address,
            [*loaded, *self._with_rows(target, skipped)],
            left=committed.left,
            version=committed.version,
            identities=committed.plan.identities.by_original,
            changes=committed.changes,
        )
        return self._report(target, decided.files, state="loaded", committed=committed)

    def _foretell(self) -> IngestReport:
        target = self.workspace.target(self.address, read_only=True)
        known = self._known(target)
        state = target.state()
        decided = self._decide(target, state, known)
        changes = bool(decided.loads or decided.removed)
        foretold = foretell_files(self.context, target, state, self.spec, decided) if changes else None
        return self._report(target, decided.files, state="discovered", committed=foretold)

    def _known(self, target: Target) -> tuple[KnownFile, ...]:
        """Every file with its checksum: the ledger's, where path, size and ETag are the same, else read now."""
        records = self.ledger.files(target.address)
        state = target.state()
        held = self._held(target, state, records)
        remembered: dict[tuple[str, int, str | None], FileRecord] = {
            (one.path, one.size_bytes, one.etag): one
            for one in records
            if one.etag is not None and one.identity in held
        }
        known: dict[str, KnownFile] = {}
        unread = []
        for file in self.found.files:
            record = remembered.get((file.uri, file.size_bytes, file.etag))
            if record is None:
                unread.append(file)
            else:
                known[file.uri] = KnownFile(file, record.identity, record.sha256)
        if unread:
            delivery = Delivery(self.slice, self.name, "plain", None, (), tuple(unread))
            self.context.observer.inspecting(delivery)
            for file in unread:
                self.context.require_shared(file.uri)
            job = InspectJob(
                tuple(unread),
                delimiter=self.spec.delimiter,
                quote=self.spec.quote,
                encoding=self.spec.encoding,
                infer=self.spec.infer,
                digits=digits_of(self.context.settings.decimals),
                limits=self.context.settings.limits,
            )
            try:
                facts = self.context.engine.inspect(job)
            except (SourceError, NotFound) as error:
                self._require_unchanged(error)
                raise
            for file, one in zip(unread, facts, strict=True):
                if one.size_bytes != file.size_bytes:
                    raise Changed(f"{file.uri} was written over while it was read", uri=file.uri, remedy="Run again.")
                known[file.uri] = KnownFile.read(file, one)
        return tuple(known[file.uri] for file in self.found.files)

    def _require_unchanged(self, error: LakebedError) -> None:
        """Raises Changed where a file that could not be read is not the one that was found: it is being written."""
        for file in self.found.files:
            if file.uri in error.message:
                try:
                    now = self.context.storage.head(file.uri)
                except StorageError:
                    now = None
                if now is None or (now.size_bytes, now.etag) != (file.size_bytes, file.etag):
                    raise Changed(f"{file.uri} was written over while it was read", uri=file.uri) from error

    def _held(self, target: Target, state: TableState, records: Sequence[FileRecord]) -> frozenset[str]:
        """The identities whose rows the table has: by the ledger while nobody else has written, else by its rows.

        With keys a file may have no row left that is its own; then the ledger's word counts too.
        """
        loaded = frozenset(one.identity for one in records if one.state == "loaded")
        if not state.exists:
            return frozenset()
        trusted = len(loaded) == len({one.identity for one in records})
        if records and trusted and self.ledger.version_left(target.address) == state.seen:
            return loaded
        if FILE not in state.schema:
            return frozenset()
        found = _distinct(target)
        # A file without rows leaves no trace in the table.
        empty = frozenset(one.identity for one in records if one.state == "loaded" and not one.rows)
        return found | empty | (loaded if self.spec.keys else frozenset())

    def _decide(self, target: Target, state: TableState, known: Sequence[KnownFile]) -> Decided:
        records = self.ledger.files(target.address)
        held = self._held(target, state, records)
        decided = decide_files(known, held, records, keyed=bool(self.spec.keys))
        if not records and not self.spec.keys:
            self.doubts = self._doubt_paths(target, held - {one.identity for one in known}, decided.loads)
        if any(one.facts is None for one in decided.loads):
            # Its rows were there when it was looked for, so that it was not read.
            raise Changed(f"{target.address} has lost rows of files meanwhile", uri=target.address)
        require_some(decided.files, self.context.source)
        return decided

    def _doubt_paths(self, target: Target, elsewhere: frozenset[str], new: Sequence[KnownFile]) -> tuple[str, ...]:
        """What an empty ledger cannot know: whether a file is new, or was loaded under its path with another content.

        Raises SourceError where it matters. Where every file that the table holds is here, none has changed.
        """
        if not elsewhere:
            return ()
        said = (
            f"the ledger knows none of the files that {target.address} holds, and {len(elsewhere)} of them "
            f"{'is' if len(elsewhere) == 1 else 'are'} not under {self.context.source}: gone, or changed since"
        )
        if new and not self.assume_new:
            more = f" and {len(new) - 1} more" if len(new) > 1 else ""
            raise SourceError(
                f"{said}. {new[0].file.uri}{more} may be new, or have rows in the table that it should replace",
                remedy="Bring back the ledger (ledger.db of the work directory). If no file has changed since it was "
                "loaded, say --assume-new; else write the table again from all files.",
            )
        return (said,)

    def _with_rows(self, target: Target, files: Sequence[FileRecord]) -> list[FileRecord]:
        """Skipped files with the rows that the ledger knows of them."""
        rows = {one.identity: one.rows for one in self.ledger.files(target.address)}
        return [replace(one, rows=rows.get(one.identity, 1)) for one in files]

    def _delivery(self, decided: Decided) -> Delivery:
        """What is loaded, as observers and reports know it."""
        digest = hashlib.sha256("\n".join(sorted(one.identity for one in decided.loads)).encode()).hexdigest()
        files = tuple(one.file for one in decided.loads)
        return Delivery(self.slice, f"files-{digest[:16]}", "plain", None, (), files)

    def _warnings(self, decided: Decided) -> tuple[str, ...]:
        told = (*self.found.warnings, *self.doubts)
        empty = [one.known.file.uri for one in decided.files if one.action == "empty"]
        if not empty:
            return told
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        said = f"{empty[0]}{more}: nothing is in it, and the rows that its path had before stay"
        return (*told, said)

    def _report(
        self,
        target: Target,
        files: Sequence[DecidedFile],
        *,
        state: DeliveryState,
        committed: CommittedFiles | None = None,
        skipped: bool = False,
        warnings: tuple[str, ...] = (),
    ) -> IngestReport:
        decided = Decided(tuple(files))
        told = (*warnings, *self._warnings(decided), *describe_dialects(one.known for one in files))
        delivery = DeliveryReport.of(self._delivery(decided), target.address, state)
        if committed is not None:
            told = (*told, *committed.plan.hints, *committed.warnings)
            delivery = replace(
                delivery,
                rows=committed.rows,
                added_columns=committed.plan.evolution.added_columns,
                reconciled=committed.reconciled,
                rejected_rows=committed.rejected_rows,
                rounded={},
            )
        delivery = replace(delivery, skipped=skipped or state == "loading", warnings=tuple(dict.fromkeys(told)))
        now = target.state()
        name = self.address.table or self.address.place.rstrip("/").rsplit("/", 1)[-1]
        return IngestReport(
            tables=(TableReport(name, target.address, now.rows),),
            deliveries=(delivery,),
            warnings=delivery.warnings,
            files=tuple(_file_report(one) for one in files),
            types={} if committed is None else committed.plan.types,
            loaded=0 if committed is None else committed.rows,
            removed=0 if committed is None else committed.removed,
            inserted=None if committed is None else committed.inserted,
            updated=None if committed is None else committed.updated,
            dry_run=self.dry_run,
            plan=committed.plan.evolution if self.dry_run and committed is not None else None,
        )


def _file_report(one: DecidedFile) -> FileReport:
    known = one.known
    dialect = None if known.file.dialect is None or known.file.content != "csv" else str(known.file.dialect)
    rows = 0 if known.facts is None else known.facts.rows
    return FileReport(known.file.uri, known.identity, one.action, one.reason, rows, dialect)


def _distinct(target: Target) -> frozenset[str]:
    """The files whose rows a table has. Streams one column; memory is bounded by one batch."""
    data = target.read([FILE])
    batches = data.to_batches() if isinstance(data, pa.Table) else data.to_batches(columns=[FILE])
    found: set[str] = set()
    for batch in batches:
        found.update(one for one in batch.column(0).unique().to_pylist() if one is not None)
    return frozenset(found)
