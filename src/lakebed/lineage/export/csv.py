"""One row for each edge between columns, for spreadsheets and joins."""

import csv
import io

from lakebed.lineage.contract import AnalyzeResult
from lakebed.lineage.export.script_texts import ScriptTexts

HEADER = (
    "statement_index",
    "statement_type",
    "file",
    "source_table",
    "source_column",
    "source_path",
    "target_table",
    "target_column",
    "position",
    "role",
    "approximate",
)


def to_csv(result: AnalyzeResult, sources: ScriptTexts) -> str:
    """RFC 4180 with a header; what is not there is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for statement in result.statements:
        for edge in statement.column_lineage:
            writer.writerow(
                (
                    statement.statement_index,
                    statement.statement_type,
                    statement.file or "",
                    edge.source_table,
                    edge.source_column,
                    ".".join(edge.path),
                    edge.target_table or "",
                    edge.target_column or "",
                    "" if edge.position is None else edge.position,
                    edge.role,
                    "true" if edge.approximate else "false",
                )
            )
    return out.getvalue()
