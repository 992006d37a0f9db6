"""A receipt as a page to print: no script, nothing loaded from anywhere, every name escaped."""

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; color: #1c2126; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin-top: 2rem; }
pre, code { font: 12px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { background: #f4f5f6; padding: .75rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid #dfe3e6; }
th { font-size: 12px; } td.number { text-align: right; white-space: nowrap; }
.total { font-size: 1.1rem; font-weight: 600; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""


def to_html(facts: Mapping[str, Any]) -> str:
    """The page; its policy lets the browser use this style, by its hash, and nothing else."""
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    return "".join(
        (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>Receipt {escape(str(facts['sha256'])[:12])}</title><style>{_STYLE}</style></head><body>",
            *_sections(facts),
            "</body></html>\n",
        )
    )


def _sections(facts: Mapping[str, Any]) -> Iterable[str]:
    months = "" if facts["periods"] is None else f", rows of {', '.join(facts['periods'])}"
    yield f"<h1>Receipt</h1><p>Table <code>{_text(facts['table'])}</code>{_text(months)}<br>"
    yield f"version <code>{_text(facts['version'])}</code><br>receipt <code>{_text(facts['sha256'])}</code></p>"
    yield f"<h2>Question</h2><pre>{_text(facts['sql'])}</pre><h2>Answer</h2>"
    columns = [one["name"] for one in facts["result"]["columns"]]
    yield _table(columns, facts["result"]["rows"], kind="total")
    yield "<h2>Where the columns come from</h2>"
    yield _table(
        ("result", "column", "in the source", "role"),
        [
            (one["output"], each["column"], each["original"], each["role"])
            for one in facts["lineage"]
            for each in one["from"]
        ],
    )
    yield "<h2>Deliveries</h2>"
    added_up = {(one["period"], one["delivery"]): one["reconciled"] for one in facts["reconciliation"]}
    yield _table(
        ("month", "delivery", "report", "payer", "loaded", "rows", "adds up"),
        [
            (
                one["period"],
                one["delivery"],
                one["report"],
                one["payer"],
                one["loadedAt"],
                one["rows"],
                "yes" if added_up.get((one["period"], one["delivery"])) else "not checked",
            )
            for one in facts["deliveries"]
        ],
    )
    yield "<h2>Files</h2>"
    yield _table(
        ("file", "bytes", "SHA-256"),
        [(file["uri"], file["sizeBytes"], file["sha256"]) for one in facts["deliveries"] for file in one["files"]],
    )
    yield "<p>Check it: <code>lakebed receipt --verify FILE.json</code> computes the answer again from these files.</p>"


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "") -> str:
    head = "".join(f"<th>{_text(heading)}</th>" for heading in headings)
    lines = "".join(f"<tr>{''.join(_cell(value, kind) for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: object, kind: str) -> str:
    text = "" if value is None else str(value)
    number = text.replace(".", "", 1).lstrip("-").isdigit() and not (len(text) == 12 and "." not in text)
    classes = " ".join(one for one in (kind, "number" if number else "") if one)
    return f'<td class="{classes}">{_text(text)}</td>' if classes else f"<td>{_text(text)}</td>"


def _text(value: object) -> str:
    return escape(str(value), quote=True)
