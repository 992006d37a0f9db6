"""One run: what its deliveries share, and what becomes of each."""

import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from lakebed.engines.protocols.load import Engine
from lakebed.errors import Changed, ClaimHeld, LakebedError, MissingFile, SourceError
from lakebed.model import Delivery
from lakebed.pipeline.decide import Decision, decide
from lakebed.pipeline.holding import held
from lakebed.pipeline.incoming import NamingChoice
from lakebed.pipeline.load import Loader
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import DeliveryReport, TableReport
from lakebed.pipeline.stage import stage_delivery, tidy_staging
from lakebed.schema.evolve import Policy
from lakebed.source.discover import Discovered, DiscoverFilters, discover
from lakebed.source.header import with_columns
from lakebed.source.stage import recheck
from lakebed.state.ledger import Ledger
from lakebed.state.rebuild import describe_table
from lakebed.storage import join
from lakebed.table.sweep import sweep_orphan
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.engines.spark.session import Session

# A delivery that is written over while it is read is read again.
READINGS = 3


class Run:
    """Takes deliveries one after the other. The Spark session starts when the first one needs it."""

    def __init__(
        self,
        workspace: Workspace,
        ledger: Ledger,
        source: str,
        observer: Observer,
        spark: "SparkSession | None" = None,
    ) -> None:
        self._workspace = workspace
        self._settings = workspace.settings
        self._ledger = ledger
        self._observer = observer
        self._spark = spark
        self._id = uuid.uuid4().hex
        self._source = source
        self._open = ExitStack()
        self._session: Session | None = None
        self._targets: dict[tuple[Address, str | None], Target] = {}

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def take(self, delivery: Delivery, address: Address, found: Discovered) -> DeliveryReport:
        """Loads a delivery, or says why not. An error of ours is a report; its slice is then as it was."""
        started = time.monotonic()
        try:
            report = self._take(delivery, address, found)
        except ClaimHeld as busy:
            # Another run is at it: its state is not ours to write.
            report = replace(
                _failed(delivery, address, None, 0.0), state="loading", skipped=True, warnings=(str(busy),)
            )
        except LakebedError as error:
            self._ledger.set_state(delivery.slice, delivery.id, "failed", error=str(error))
            report = _failed(delivery, address, str(error), time.monotonic() - started)
        self._observer.finished(report)
        return report

    def describe(self, address: Address) -> TableReport:
        """A table as the run leaves it."""
        target = self._target(address)
        name = address.table or address.place.rstrip("/").rsplit("/", 1)[-1]
        return TableReport(name, target.address, target.state().rows)

    def _take(self, delivery: Delivery, address: Address, found: Discovered) -> DeliveryReport:
        target = self._target(address)
        with self._ledger.claim_load(target.address, delivery.slice) as claim:
            decision = self._decide(target, delivery)
            if decision.action == "refuse":
                raise MissingFile(
                    manifest=delivery.manifest or str(delivery.slice), files=delivery.missing, remedy=decision.reason
                )
            if decision.action == "skip":
                return self._skipped(delivery, target, decision)
            for reading in range(1, READINGS + 1):
                try:
                    ready = self._make_ready(delivery, address)
                    loader = self._loader(address)
                    self._observer.loading(ready)
                    report = loader.load(claim, ready, found.deliveries, still_same=self._check(delivery))
                    break
                except Changed:
                    if reading == READINGS:
                        raise
                    delivery = self._discover_again(delivery)
            tidy_staging(self._workspace, self._ledger, delivery)
            return report

    def _decide(self, target: Target, delivery: Delivery) -> Decision:
        state = target.state()
        if state.exists and not self._ledger.loads(target.address):
            self._ledger.rebuild([describe_table(target, state)])
        return decide(delivery, held(target, state, self._ledger, delivery), strict=self._settings.strict)

    def _make_ready(self, delivery: Delivery, address: Address) -> Delivery:
        """The delivery with its columns known and its files where the workers reach them.

        A folder that is to be the table and that they do not reach is refused before anything is copied.
        """
        from lakebed.engines.spark.session import require_shared

        session = self._spark_session()
        if address.data_folder is not None:
            require_shared(address.data_folder, session)
        if self._settings.no_stage:
            for file in delivery.files:
                require_shared(file.uri, session)
            return with_columns(delivery, self._workspace.storage)
        folder = self._settings.staging_location
        require_shared(folder, session)
        staged = stage_delivery(self._workspace, self._ledger, delivery, self._observer)
        return with_columns(staged, self._workspace.storage)

    def _check(self, delivery: Delivery) -> Callable[[], bool]:
        """Says after reading in place whether the delivery is still the one that was discovered."""
        if self._settings.no_stage and delivery.overwritten_in_place:
            return lambda: recheck(delivery, self._workspace.storage)
        return lambda: True

    def _discover_again(self, delivery: Delivery) -> Delivery:
        slice_ = delivery.slice
        filters = DiscoverFilters(report=slice_.report, payer=slice_.payer, period=slice_.period)
        for newer in discover(self._source, self._workspace.storage, filters).deliveries:
            if newer.slice == slice_:
                self._ledger.discovered([newer], source=self._source)
                return newer
        raise SourceError(f"{slice_} has gone from {self._source} while it was read", remedy="Run again.")

    def _loader(self, address: Address) -> Loader:
        from lakebed.engines.spark.session import require_shared

        return Loader(
            target=self._target(address),
            quarantine=self._target(address.beside("_rejected")),
            engine=self._engine(),
            ledger=self._ledger,
            choice=NamingChoice(self._settings.naming, self._settings.decimals),
            policy=Policy(on_conflict=self._settings.on_conflict),
            on_bad_value=self._settings.on_bad_value,
            strict=self._settings.strict,
            run_id=self._id,
            observer=self._observer,
            require_reachable=lambda folder: require_shared(folder, self._spark_session()),
        )

    def _spark_session(self) -> "Session":
        if self._session is None:
            # Spark is imported when a delivery is to be loaded: a run that has nothing to do takes no time.
            from lakebed.engines.spark.session import open_session

            self._session = self._open.enter_context(open_session(self._settings, spark=self._spark))
        return self._session

    def _engine(self) -> Engine:
        from lakebed.engines.spark.engine import SparkEngine

        return SparkEngine(self._spark_session().spark, self._workspace.storage.settings)

    def _target(self, address: Address) -> Target:
        key = (address, self._shared_staging())
        if key not in self._targets:
            target = self._workspace.target(address, staging=key[1])
            for orphan in self._ledger.orphans():
                if orphan.table == target.address:
                    sweep_orphan(orphan, target, self._ledger, self._workspace.storage)
            self._targets[key] = target
        return self._targets[key]

    def _shared_staging(self) -> str | None:
        """Where workers with disks of their own write for a target that has no place for them, such as a DuckDB file.

        None until a session has shown that there are such workers.
        """
        if self._session is None or self._session.local:
            return None
        return join(self._settings.staging_location, "commits")

    def _skipped(self, delivery: Delivery, target: Target, decision: Decision) -> DeliveryReport:
        record = self._ledger.current_load(target.address, delivery.slice)
        same = record is not None and record.delivery == delivery.id
        self._ledger.set_state(delivery.slice, delivery.id, "loaded" if same else "superseded")
        return DeliveryReport(
            payer=delivery.slice.payer,
            report=delivery.slice.report,
            period=delivery.slice.period,
            delivery=delivery.id,
            state="loaded" if same else "superseded",
            complete=delivery.complete,
            rows=record.rows if record is not None and same else 0,
            files=len(delivery.files),
            reconciled=record.reconciled if record is not None and same else None,
            table=target.address,
            skipped=True,
            warnings=() if same else (decision.reason,),
        )


def remember(ledger: Ledger, found: Discovered, source: str) -> None:
    """Writes down what was discovered, and what a newer delivery of the same month has made obsolete."""
    ledger.discovered((*found.deliveries, *found.superseded), source=source)
    for old in found.superseded:
        ledger.set_state(old.slice, old.id, "superseded")


def _failed(delivery: Delivery, address: Address, error: str | None, seconds: float) -> DeliveryReport:
    return DeliveryReport(
        payer=delivery.slice.payer,
        report=delivery.slice.report,
        period=delivery.slice.period,
        delivery=delivery.id,
        state="failed",
        complete=delivery.complete,
        rows=0,
        files=len(delivery.files),
        seconds=round(seconds, 3),
        error=error,
        table=str(address),
    )
