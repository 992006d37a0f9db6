"""SQL lineage that knows the schema and admits what it does not know."""

from lakebed.lineage.analyze import Analyzer, Script, analyze
from lakebed.lineage.contract import AnalyzeResult, ColumnEdge, Issue, StatementLineage, TableEdge

__all__ = ["AnalyzeResult", "Analyzer", "ColumnEdge", "Issue", "Script", "StatementLineage", "TableEdge", "analyze"]
