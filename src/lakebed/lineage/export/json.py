"""The contract's JSON, as `AnalyzeResult.to_dict()` gives it."""

import json

from lakebed.lineage.export.source import Sources
from lakebed.lineage.model import AnalyzeResult


def to_json(result: AnalyzeResult, sources: Sources) -> str:
    """One JSON object."""
    return json.dumps(result.to_dict(), ensure_ascii=False, indent=2)
