"""What a run would do, delivery by delivery, without doing it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.model import Delivery
from lakebed.pipeline.decide import Action, Decision, decide
from lakebed.pipeline.holding import held
from lakebed.pipeline.incoming import NamingChoice, plan_incoming
from lakebed.schema.evolve import EvolutionPlan, Policy
from lakebed.schema.types import Schema
from lakebed.source.header import with_columns
from lakebed.state.ledger import Ledger
from lakebed.targets.address import Address
from lakebed.workspace import Workspace


@dataclass(frozen=True)
class PlannedDelivery:
    """One delivery: what would become of it, and of the table's schema."""

    delivery: Delivery
    table: str
    decision: Decision
    evolution: EvolutionPlan | None  # None where nothing would be loaded

    @property
    def action(self) -> Action:
        return self.decision.action

    def to_dict(self) -> dict[str, object]:
        slice_ = self.delivery.slice
        return {
            "payer": slice_.payer,
            "report": slice_.report,
            "period": slice_.period,
            "delivery": self.delivery.id,
            "table": self.table,
            "action": self.action,
            "reason": self.decision.reason,
            "replaces": self.decision.replaces,
            "complete": self.delivery.complete,
            "files": len(self.delivery.files),
            "size_bytes": self.delivery.size_bytes,
            "evolution": None if self.evolution is None else self.evolution.to_dict(),
        }


@dataclass(frozen=True)
class PlanReport:
    """What `lakebed plan` prints."""

    deliveries: tuple[PlannedDelivery, ...]
    warnings: tuple[str, ...] = ()

    @property
    def changes_nothing(self) -> bool:
        return all(one.action == "skip" for one in self.deliveries)

    def to_dict(self) -> dict[str, object]:
        return {"deliveries": [one.to_dict() for one in self.deliveries], "warnings": list(self.warnings)}


class Planner:
    """Plans deliveries in the order in which a run takes them, each on the schema that the one before would leave."""

    def __init__(self, workspace: Workspace, ledger: Ledger, known: Sequence[Delivery]) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self._known = known
        self._schemas: dict[str, Schema] = {}

    def plan(self, delivery: Delivery, address: Address) -> PlannedDelivery:
        """What would become of a delivery. Reads the table, the ledger and the first file's header; writes nothing."""
        settings = self._workspace.settings
        target = self._workspace.target(address, read_only=True)
        state = target.state()
        decision = decide(delivery, held(target, state, self._ledger, delivery), strict=settings.strict)
        if decision.action in ("skip", "refuse"):
            return PlannedDelivery(delivery, target.address, decision, None)
        current = self._schemas.get(target.address, state.schema if state.exists else None)
        incoming = plan_incoming(
            with_columns(delivery, self._workspace.storage),
            current,
            known=self._known,
            remembered={record.original: record.name for record in self._ledger.identities(target.address)},
            choice=NamingChoice(settings.naming, settings.decimals),
            policy=Policy(on_conflict=settings.on_conflict, rules=target.capabilities.rules),
        )
        self._schemas[target.address] = incoming.evolution.final
        return PlannedDelivery(delivery, target.address, decision, incoming.evolution)
