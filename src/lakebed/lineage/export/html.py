"""Lineage as one HTML page that needs nothing else: a graph to click through, beside the SQL it comes from."""

import base64
import hashlib
import json
import re
from importlib.resources import files

from lakebed.lineage.contract import AnalyzeResult
from lakebed.lineage.export.script_texts import ScriptTexts
from lakebed.lineage.graph import result_name


def to_html(result: AnalyzeResult, sources: ScriptTexts) -> str:
    """The page; its data stand in it as JSON, escaped so that no SQL can end the script element.

    Its policy lets the browser run this script and this style, by their hashes, and load nothing from anywhere.
    """
    page = files("lakebed.lineage.export").joinpath("page.html").read_text(encoding="utf-8")
    data = json.dumps(_data(result, sources), ensure_ascii=False)
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")
    whole = page.replace("/*DATA*/null", safe.replace("\u2029", "\\u2029"), 1)
    return whole.replace("/*POLICY*/", _policy(whole), 1)


def _policy(page: str) -> str:
    return (
        f"default-src 'none'; script-src {_hash(page, 'script')}; style-src {_hash(page, 'style')}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(page: str, element: str) -> str:
    found = re.search(f"<{element}>(.*?)</{element}>", page, re.DOTALL)
    assert found is not None
    return f"'sha256-{base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()}'"


def _data(result: AnalyzeResult, sources: ScriptTexts) -> dict[str, object]:
    kinds = {use.name: (use.kind, use.resolution_source) for s in result.statements for use in s.tables}
    tables: dict[str, dict[str, None]] = {}
    edges: list[dict[str, object]] = []
    for statement in result.statements:
        target = statement.target or (result_name(statement) if statement.outputs or statement.table_lineage else None)
        if target is not None:
            columns = tables.setdefault(target, {})
            for name in statement.outputs:
                columns[name] = None
        for flow in statement.table_lineage:
            tables.setdefault(flow.source, {})
            edges.append(
                {"s": flow.source, "t": target, "i": statement.statement_index, "a": flow.approximate, "r": "table"}
            )
        for edge in statement.column_lineage:
            tables.setdefault(edge.source_table, {})[edge.source_column] = None
            if target is None:
                continue
            if edge.target_column is not None:
                tables.setdefault(target, {})[edge.target_column] = None
            edges.append(
                {
                    "s": edge.source_table,
                    "sc": edge.source_column,
                    "t": target,
                    "tc": edge.target_column,
                    "i": statement.statement_index,
                    "a": edge.approximate,
                    "r": edge.role,
                }
            )
    return {
        "tables": [
            {
                "name": name,
                "columns": list(columns),
                "kind": kinds.get(name, ("output" if name.startswith("<") else "table", None))[0],
                "resolution": kinds.get(name, ("", None))[1],
            }
            for name, columns in tables.items()
        ],
        "edges": edges,
        "statements": [
            {
                "index": statement.statement_index,
                "type": statement.statement_type,
                "target": statement.target or result_name(statement),
                "sql": sources.sql(statement),
                "file": statement.file,
            }
            for statement in result.statements
        ],
        "issues": [
            {
                "code": issue.code,
                "severity": issue.severity,
                "message": issue.message,
                "hint": issue.hint,
                "place": sources.place(issue),
                "index": issue.statement_index,
            }
            for issue in result.issues
        ],
    }
