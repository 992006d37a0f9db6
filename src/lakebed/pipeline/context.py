"""What the deliveries of one run share: settings, ledger, observer, and the session and tables that they open."""

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakebed.config import Settings
from lakebed.engines.protocols.load import Engine
from lakebed.model import Delivery
from lakebed.pipeline.ahead import Ahead
from lakebed.pipeline.decide import NO_CONSENT, Consent
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.steps import Steps
from lakebed.source.stage import CopyAll
from lakebed.state.ledger import Ledger
from lakebed.state.unrecorded import may_be_unrecorded, record_unrecorded
from lakebed.storage import Storage, is_local
from lakebed.table.sweep import sweep_orphan
from lakebed.targets.address import Address
from lakebed.targets.base import Target
from lakebed.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.engines.spark.session import Session


class RunContext:
    """One run. Spark starts when the first delivery needs it: a run that has nothing to do takes no time."""

    def __init__(
        self,
        workspace: Workspace,
        ledger: Ledger,
        source: str,
        observer: Observer,
        spark: "SparkSession | None" = None,
        *,
        steps: Steps | None = None,
        consent: Consent = NO_CONSENT,
    ) -> None:
        self.steps = steps or Steps()
        self.workspace = workspace
        self.ledger = ledger
        self.source = source
        self.observer = observer
        self.consent = consent
        self._spark = spark
        self._open = ExitStack()
        self._session: Session | None = None
        self._targets: dict[tuple[Address, str | None], Target] = {}
        self.ahead: Ahead | None = None  # of a run that converts several deliveries at once

    def __enter__(self) -> "RunContext":
        return self

    def __exit__(self, *_: object) -> None:
        # Tasks that are still being cancelled would write into folders while they are removed.
        self.stop_session()
        if self.ahead is not None:
            self.ahead.close()

    def stop_session(self) -> None:
        """Stops the Spark session that this run has started; after it nobody writes for this run."""
        self._session = None
        self._open.close()

    @property
    def id(self) -> str:
        """Distinct from every other run's."""
        return self.steps.run

    @property
    def settings(self) -> Settings:
        return self.workspace.settings

    @property
    def now(self) -> datetime:
        """The time by which months are over."""
        return datetime.now(UTC)

    @property
    def storage(self) -> Storage:
        return self.workspace.storage

    @property
    def session(self) -> "Session":
        """The Spark session, which the first use starts."""
        if self._session is None:
            from lakebed.engines.spark.session import open_session

            self._session = self._open.enter_context(open_session(self.settings, spark=self._spark))
        return self._session

    @property
    def engine(self) -> Engine:
        from lakebed.engines.spark.load import SparkEngine

        return SparkEngine(self.session.spark, self.storage.settings)

    def copy_all(self, delivery: Delivery) -> CopyAll | None:
        """Who copies the files of a delivery: workers that are elsewhere, as near to the storage as this machine."""
        if self.session.local or any(is_local(file.uri) for file in delivery.files):
            return None
        return self.engine.copy

    def require_shared(self, uri: str) -> None:
        """Refuses a place that the engine's workers cannot reach."""
        from lakebed.engines.spark.session import require_shared

        require_shared(uri, self.session)

    def target(self, address: Address) -> Target:
        """The table at an address, opened once and rid of what crashed runs left beside it."""
        key = (address, self._shared_staging())
        if key not in self._targets:
            target = self.workspace.target(address, staging=key[1])
            for orphan in self.ledger.orphans():
                if orphan.table == target.address:
                    sweep_orphan(orphan, target, self.ledger, self.storage)
            if may_be_unrecorded(target.last_commit(), self.settings.ledger_place):
                record_unrecorded(target, target.state(), self.ledger, self.settings.ledger_place)
            self._targets[key] = target
        return self._targets[key]

    def _shared_staging(self) -> str | None:
        """Where workers with disks of their own write for a target that has no place for them, such as a DuckDB file.

        None until a session has shown that there are such workers.
        """
        if self._session is None or self._session.local:
            return None
        return self.settings.commit_staging
