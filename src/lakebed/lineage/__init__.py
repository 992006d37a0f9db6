"""Column lineage of SQL scripts, with the schema that is known and issues for what is not."""

from lakebed.lineage.analyze import Analyzer, LineageSchema, Script, ScriptTarget, analyze
from lakebed.lineage.contract import AnalyzeResult, ColumnEdge, Issue, StatementLineage, TableEdge

__all__ = [
    "AnalyzeResult",
    "Analyzer",
    "ColumnEdge",
    "Issue",
    "LineageSchema",
    "Script",
    "ScriptTarget",
    "StatementLineage",
    "TableEdge",
    "analyze",
]
