"""The contract's JSON, as `AnalyzeResult.to_dict()` gives it."""

import json

from lakebed.lineage.contract import AnalyzeResult
from lakebed.lineage.export.script_texts import ScriptTexts


def to_json(result: AnalyzeResult, sources: ScriptTexts) -> str:
    """One JSON object."""
    return json.dumps(result.to_dict(), ensure_ascii=False, indent=2)
