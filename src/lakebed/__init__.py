"""Loads data whose columns keep changing into a lake that never loses one.

`PUBLIC` says where each public name lives. A name is imported when it is first used, so that `import lakebed` costs
nothing and workers that only have pyarrow can import the kernels that are shipped to them. Type checkers, which do not
run code, read the imports below it; a test keeps the two equal.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.3.0"

# public name -> the module that holds it
PUBLIC: dict[str, str] = {
    # a function for every command
    "analyze": "lakebed.lineage",
    "compact": "lakebed.table.compact",
    "analyze_project": "lakebed.lineage.project",
    "check": "lakebed.changes.check",
    "compare_lineage": "lakebed.changes.compare",
    "diff": "lakebed.finops.diff",
    "discover": "lakebed.pipeline.discover",
    "doctor": "lakebed.health",
    "evolve": "lakebed.table.evolve",
    "focus": "lakebed.finops.focus",
    "history": "lakebed.table.history",
    "impact": "lakebed.changes.impact",
    "ingest": "lakebed.pipeline.ingest",
    "load": "lakebed.pipeline.load",
    "merge": "lakebed.table.merge",
    "plan": "lakebed.pipeline.plan",
    "publish": "lakebed.table.publish",
    "read": "lakebed.table.read",
    "receipt": "lakebed.finops.receipt",
    "reconcile": "lakebed.pipeline.reconcile",
    "rollback": "lakebed.table.history",
    "run": "lakebed.pipeline.run",
    "run_sources": "lakebed.pipeline.sources",
    "sample": "lakebed.samples",
    "stage": "lakebed.pipeline.stage",
    "status": "lakebed.pipeline.status",
    "sums": "lakebed.finops.sums",
    "sweep": "lakebed.table.sweep",
    "verify_receipt": "lakebed.finops.receipt_check",
    "views": "lakebed.finops.views",
    "write": "lakebed.table.write",
    # what they return
    "AnalyzeResult": "lakebed.lineage",
    "Breakage": "lakebed.changes.result",
    "Check": "lakebed.health",
    "CheckResult": "lakebed.changes.findings",
    "CompactResult": "lakebed.table.compact",
    "ColumnChange": "lakebed.changes.result",
    "ComparedEdge": "lakebed.changes.compare",
    "DeliveryReport": "lakebed.pipeline.reports",
    "DeliveryTruth": "lakebed.samples",
    "Diff": "lakebed.finops.diff",
    "DiffPart": "lakebed.finops.diff",
    "DiffSide": "lakebed.finops.diff",
    "Difference": "lakebed.pipeline.reports",
    "DiscoverReport": "lakebed.source.discover",
    "EvolutionPlan": "lakebed.schema.evolve",
    "FileReport": "lakebed.pipeline.reports",
    "Finding": "lakebed.changes.findings",
    "FocusResult": "lakebed.finops.focus",
    "FocusSlice": "lakebed.finops.focus",
    "Expired": "lakebed.targets.snapshots",
    "Health": "lakebed.health",
    "History": "lakebed.table.history",
    "ImpactResult": "lakebed.changes.result",
    "IngestReport": "lakebed.pipeline.reports",
    "LineageDifference": "lakebed.changes.compare",
    "MergeResult": "lakebed.merge_core.result",
    "PlanReport": "lakebed.pipeline.plan",
    "PlannedDelivery": "lakebed.pipeline.plan",
    "ReachedColumn": "lakebed.changes.result",
    "Publication": "lakebed.targets.snapshots",
    "Receipt": "lakebed.finops.receipt",
    "ReconcileReport": "lakebed.pipeline.reconcile",
    "ReconciledLoad": "lakebed.pipeline.reconcile",
    "Reconciliation": "lakebed.pipeline.reports",
    "RunReport": "lakebed.pipeline.reports",
    "SampleTruth": "lakebed.samples",
    "SchemaChangeRecord": "lakebed.state.records",
    "SnapshotRecord": "lakebed.targets.snapshots",
    "SourcesReport": "lakebed.pipeline.sources",
    "StageReport": "lakebed.pipeline.stage",
    "StatusReport": "lakebed.pipeline.status",
    "LoadSums": "lakebed.finops.sums",
    "Sums": "lakebed.finops.sums",
    "Swept": "lakebed.table.sweep",
    "TableReport": "lakebed.pipeline.reports",
    "Verification": "lakebed.finops.receipt_check",
    "View": "lakebed.finops.views",
    "ViewsResult": "lakebed.finops.views",
    "WriteResult": "lakebed.table.write_spec",
    # what they take
    "Column": "lakebed.schema.types",
    "Delivery": "lakebed.model",
    "Dialect": "lakebed.finops.projection",
    "EngineName": "lakebed.engines.protocols.engine",
    "FileFormat": "lakebed.source.files",
    "FocusVersion": "lakebed.finops.focus_mapping",
    "LineageSchema": "lakebed.lineage.analyze",
    "MergeInput": "lakebed.engines.protocols.merge",
    "MergeStrategy": "lakebed.merge_core.spec",
    "Missing": "lakebed.merge_core.spec",
    "Moment": "lakebed.table.as_of",
    "Observer": "lakebed.pipeline.progress",
    "RunSettings": "lakebed.pipeline.settings",
    "SampleFormat": "lakebed.samples.kinds",
    "SampleKind": "lakebed.samples.kinds",
    "SampleLayout": "lakebed.samples.kinds",
    "Schema": "lakebed.schema.types",
    "SchemaLike": "lakebed.table.evolve",
    "Script": "lakebed.lineage",
    "ScriptTarget": "lakebed.lineage",
    "TableLike": "lakebed.table.read",
    "Target": "lakebed.targets.base",
    "Where": "lakebed.table.where",
    "WriteMode": "lakebed.model",
    # what they raise
    "DatasetMergeError": "lakebed.errors",
    "LakebedError": "lakebed.errors",
}

__all__ = ["__version__", *sorted(PUBLIC)]

if TYPE_CHECKING:
    from lakebed.changes.check import check as check
    from lakebed.changes.compare import ComparedEdge as ComparedEdge
    from lakebed.changes.compare import LineageDifference as LineageDifference
    from lakebed.changes.compare import compare_lineage as compare_lineage
    from lakebed.changes.findings import CheckResult as CheckResult
    from lakebed.changes.findings import Finding as Finding
    from lakebed.changes.impact import impact as impact
    from lakebed.changes.result import Breakage as Breakage
    from lakebed.changes.result import ColumnChange as ColumnChange
    from lakebed.changes.result import ImpactResult as ImpactResult
    from lakebed.changes.result import ReachedColumn as ReachedColumn
    from lakebed.engines.protocols.engine import EngineName as EngineName
    from lakebed.engines.protocols.merge import MergeInput as MergeInput
    from lakebed.errors import DatasetMergeError as DatasetMergeError
    from lakebed.errors import LakebedError as LakebedError
    from lakebed.finops.diff import Diff as Diff
    from lakebed.finops.diff import DiffPart as DiffPart
    from lakebed.finops.diff import DiffSide as DiffSide
    from lakebed.finops.diff import diff as diff
    from lakebed.finops.focus import FocusResult as FocusResult
    from lakebed.finops.focus import FocusSlice as FocusSlice
    from lakebed.finops.focus import focus as focus
    from lakebed.finops.focus_mapping import FocusVersion as FocusVersion
    from lakebed.finops.projection import Dialect as Dialect
    from lakebed.finops.receipt import Receipt as Receipt
    from lakebed.finops.receipt import receipt as receipt
    from lakebed.finops.receipt_check import Verification as Verification
    from lakebed.finops.receipt_check import verify_receipt as verify_receipt
    from lakebed.finops.sums import LoadSums as LoadSums
    from lakebed.finops.sums import Sums as Sums
    from lakebed.finops.sums import sums as sums
    from lakebed.finops.views import View as View
    from lakebed.finops.views import ViewsResult as ViewsResult
    from lakebed.finops.views import views as views
    from lakebed.health import Check as Check
    from lakebed.health import Health as Health
    from lakebed.health import doctor as doctor
    from lakebed.lineage import AnalyzeResult as AnalyzeResult
    from lakebed.lineage import Script as Script
    from lakebed.lineage import ScriptTarget as ScriptTarget
    from lakebed.lineage import analyze as analyze
    from lakebed.lineage.analyze import LineageSchema as LineageSchema
    from lakebed.lineage.project import analyze_project as analyze_project
    from lakebed.merge_core.result import MergeResult as MergeResult
    from lakebed.merge_core.spec import MergeStrategy as MergeStrategy
    from lakebed.merge_core.spec import Missing as Missing
    from lakebed.model import Delivery as Delivery
    from lakebed.model import WriteMode as WriteMode
    from lakebed.pipeline.discover import discover as discover
    from lakebed.pipeline.ingest import ingest as ingest
    from lakebed.pipeline.load import load as load
    from lakebed.pipeline.plan import PlannedDelivery as PlannedDelivery
    from lakebed.pipeline.plan import PlanReport as PlanReport
    from lakebed.pipeline.plan import plan as plan
    from lakebed.pipeline.progress import Observer as Observer
    from lakebed.pipeline.reconcile import ReconciledLoad as ReconciledLoad
    from lakebed.pipeline.reconcile import ReconcileReport as ReconcileReport
    from lakebed.pipeline.reconcile import reconcile as reconcile
    from lakebed.pipeline.reports import DeliveryReport as DeliveryReport
    from lakebed.pipeline.reports import Difference as Difference
    from lakebed.pipeline.reports import FileReport as FileReport
    from lakebed.pipeline.reports import IngestReport as IngestReport
    from lakebed.pipeline.reports import Reconciliation as Reconciliation
    from lakebed.pipeline.reports import RunReport as RunReport
    from lakebed.pipeline.reports import TableReport as TableReport
    from lakebed.pipeline.run import run as run
    from lakebed.pipeline.settings import RunSettings as RunSettings
    from lakebed.pipeline.sources import SourcesReport as SourcesReport
    from lakebed.pipeline.sources import run_sources as run_sources
    from lakebed.pipeline.stage import StageReport as StageReport
    from lakebed.pipeline.stage import stage as stage
    from lakebed.pipeline.status import StatusReport as StatusReport
    from lakebed.pipeline.status import status as status
    from lakebed.samples import DeliveryTruth as DeliveryTruth
    from lakebed.samples import SampleTruth as SampleTruth
    from lakebed.samples import sample as sample
    from lakebed.samples.kinds import SampleFormat as SampleFormat
    from lakebed.samples.kinds import SampleKind as SampleKind
    from lakebed.samples.kinds import SampleLayout as SampleLayout
    from lakebed.schema.evolve import EvolutionPlan as EvolutionPlan
    from lakebed.schema.types import Column as Column
    from lakebed.schema.types import Schema as Schema
    from lakebed.source.discover import DiscoverReport as DiscoverReport
    from lakebed.source.files import FileFormat as FileFormat
    from lakebed.state.records import SchemaChangeRecord as SchemaChangeRecord
    from lakebed.table.as_of import Moment as Moment
    from lakebed.table.compact import CompactResult as CompactResult
    from lakebed.table.compact import compact as compact
    from lakebed.table.evolve import SchemaLike as SchemaLike
    from lakebed.table.evolve import evolve as evolve
    from lakebed.table.history import History as History
    from lakebed.table.history import history as history
    from lakebed.table.history import rollback as rollback
    from lakebed.table.merge import merge as merge
    from lakebed.table.publish import publish as publish
    from lakebed.table.read import TableLike as TableLike
    from lakebed.table.read import read as read
    from lakebed.table.sweep import Swept as Swept
    from lakebed.table.sweep import sweep as sweep
    from lakebed.table.where import Where as Where
    from lakebed.table.write import write as write
    from lakebed.table.write_spec import WriteResult as WriteResult
    from lakebed.targets.base import Target as Target
    from lakebed.targets.snapshots import Expired as Expired
    from lakebed.targets.snapshots import Publication as Publication
    from lakebed.targets.snapshots import SnapshotRecord as SnapshotRecord
else:
    # Hidden from type checkers, for which a module with `__getattr__` has every name, misspelt ones too.

    def __getattr__(name: str) -> object:
        if name in PUBLIC:
            return getattr(import_module(PUBLIC[name]), name)
        raise AttributeError(f"module 'lakebed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
