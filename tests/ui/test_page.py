"""`lineage --format html`: the explorer's viewer in one file, which loads nothing and runs nothing but itself."""

import base64
import hashlib
import json
import re

from lakebed.lineage.analyze import Script
from lakebed.lineage.project import trace_project
from lakebed.lineage.project_files import Project
from lakebed.ui.page import to_html

HOSTILE = "CREATE VIEW v AS SELECT '</script><script>alert(1)</script>' AS x, '{policy}' AS y, raw.a FROM raw -- \u2028"


def page_of(sql: str, file: str = "v.sql") -> str:
    project = Project((Script(sql, file),), ordered=True)
    return to_html(project, trace_project(project, dialect="duckdb", references=True), dialect="duckdb")


def data_of(page: str) -> dict[str, object]:
    [data] = re.findall(r'<script type="application/json" id="lakebed-data">(.*?)</script>', page, re.DOTALL)
    read: dict[str, object] = json.loads(data)
    return read


def test_it_stands_alone_and_sql_cannot_leave_its_element() -> None:
    page = page_of(HOSTILE)
    assert page.count("</script>") == 2
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"(?!data:)", page)
    data = data_of(page)
    assert [file["sql"] for file in data["files"]] == [HOSTILE]  # type: ignore[attr-defined]
    assert {table["name"] for table in data["tables"]} == {"v", "raw"}  # type: ignore[attr-defined]
    assert all({"layer", "y"} <= table.keys() for table in data["tables"])  # type: ignore[attr-defined]


def test_only_its_own_script_and_style_work() -> None:
    page = page_of(HOSTILE)
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data: blob:"
    for element, opening in (("script", '<script type="module">'), ("style", "<style>")):
        content = page.split(opening, 1)[1].split(f"</{element}>", 1)[0]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{element}-src"] == f"'sha256-{digest}'"
    # Neither is covered by a hash.
    assert not re.search(r"<[^>]+ (style|on\w+)=", page.split("<style>")[0])


def test_the_data_say_what_the_viewer_needs_to_jump() -> None:
    sql = "CREATE VIEW v AS SELECT a + 1 AS b FROM raw"
    data = data_of(page_of(sql))
    assert data["made"] == {"0": {"b": [sql.index("a + 1"), sql.index(" FROM")]}}
    assert data["welcome"]["live"] is False  # type: ignore[index]
