"""Export formats, one file each."""

from collections.abc import Callable

from lakebed.errors import ConfigError
from lakebed.lineage.contract import AnalyzeResult
from lakebed.lineage.export.csv import to_csv
from lakebed.lineage.export.json import to_json
from lakebed.lineage.export.mermaid import to_mermaid
from lakebed.lineage.export.openlineage import to_openlineage
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.export.text import to_text

# Formats that are text; `duckdb` writes a file of its own, and `html` is the explorer's page.
FORMATS: dict[str, Callable[[AnalyzeResult, ScriptTexts], str]] = {
    "text": to_text,
    "json": to_json,
    "mermaid": to_mermaid,
    "csv": to_csv,
    "openlineage": to_openlineage,
}
ALL_FORMATS = (*FORMATS, "duckdb", "html")


def export(result: AnalyzeResult, format: str, sources: ScriptTexts) -> str:
    """The result as text of one format."""
    if format not in FORMATS:
        raise ConfigError(f"the format {format!r} is not known", remedy=f"Choose one of {', '.join(ALL_FORMATS)}.")
    return FORMATS[format](result, sources)
