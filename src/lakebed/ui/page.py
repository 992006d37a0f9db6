"""Lineage as one HTML page that needs nothing else: the explorer's own viewer, with the data and the layout inside."""

import base64
import hashlib
import json
from dataclasses import asdict

from pydantic_core import to_jsonable_python

from lakebed import __version__
from lakebed.lineage.project import ProjectLineage
from lakebed.lineage.project_files import Project
from lakebed.ui import neighbourhood as boxes
from lakebed.ui.analyses import STDIN, Analysis
from lakebed.ui.api import Welcome
from lakebed.ui.files import file_text, summarise
from lakebed.ui.layout import Box, place_boxes
from lakebed.ui.overview import matrix
from lakebed.ui.places import output_places
from lakebed.ui.schema_view import schema_view
from lakebed.ui.static_files import static_file

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lineage</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="root"></div>
<script type="application/json" id="lakebed-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def to_html(project: Project, traced: ProjectLineage, *, dialect: str) -> str:
    """The page. No SQL can end the element that it stands in, and the policy lets only this script and style work.

    The lineage is traced with references, by which a name in the SQL leads to its table.
    """
    script = static_file("explorer.js").decode("utf-8")
    style = static_file("explorer.css").decode("utf-8")
    data = json.dumps(to_jsonable_python(_data(Analysis("page", project, None, dialect, traced))), ensure_ascii=False)
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, style=style, script=script, data=_safe(data))


def _safe(data: str) -> str:
    for char in "<>&\u2028\u2029":
        data = data.replace(char, f"\\u{ord(char):04x}")
    return data


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(analysis: Analysis) -> dict[str, object]:
    """What the viewer asks of a server, as far as it can be answered beforehand."""
    lineage = analysis.lineage
    names = [(script.file or STDIN) for script in analysis.scripts]
    texts = analysis.traced.texts
    heights = {name: boxes.first_height(table) for name, table in lineage.tables.items()}
    placed = place_boxes(
        [Box(name, boxes.BOX_WIDTH, height) for name, height in heights.items()],
        ((source, target) for source, targets in lineage.down.items() for target in targets),
    )
    return {
        "welcome": Welcome(__version__, analysis.dialect, (), True, None, live=False),
        "project": summarise(analysis, has_sql=True),
        "files": [file_text(analysis, name) for name in dict.fromkeys(names)],
        "tables": [
            {**asdict(table), "layer": placed[name].layer, "y": placed[name].y}
            for name, table in lineage.tables.items()
        ],
        "links": lineage.links,
        "overview": analysis.overview,
        "matrix": matrix(lineage),
        "schema": schema_view(analysis),
        "resolved": analysis.traced.result.resolved_schema.to_dict(),
        "made": {
            statement.statement_index: output_places(texts.sql(statement), statement, analysis.dialect)
            for statement in analysis.traced.result.statements
            if statement.outputs
        },
        "sizes": {
            "width": boxes.BOX_WIDTH,
            "header": boxes.HEADER_HEIGHT,
            "row": boxes.ROW_HEIGHT,
            "padding": boxes.BOX_PADDING,
            "first": boxes.FIRST_COLUMNS,
            "tables": boxes.TABLES_WITH_COLUMNS,
            "limit": boxes.View().limit,
        },
    }
