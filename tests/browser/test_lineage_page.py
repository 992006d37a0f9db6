"""The HTML format in a real browser: the graph is drawn, and a click shows what a column comes from and reaches."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browsers import chromium, columns_marked, open_page, wait_for_count

from lakebed.lineage.analyze import Script
from lakebed.lineage.project import trace_project
from lakebed.lineage.project_files import Project
from lakebed.ui.page import to_html

pytestmark = pytest.mark.browser

SQL = """CREATE TABLE cur (line_item_id STRING, account_id STRING, usage_date DATE, unblended_cost DECIMAL(38, 18));
CREATE VIEW costs AS SELECT account_id AS account, usage_date AS day, unblended_cost AS amount FROM cur;
CREATE TABLE monthly AS SELECT account, date_trunc('month', day) AS month, sum(amount) AS total FROM costs GROUP BY ALL;
CREATE TABLE ranked AS
SELECT account, total, rank() OVER (PARTITION BY month ORDER BY total) AS place FROM monthly WHERE total > 0;
INSERT INTO report SELECT r.*, a.owner FROM ranked r JOIN accounts a ON r.account = a.account;
SELECT * FROM elsewhere;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as launched:
        yield launched


def written_page(folder: Path, sql: str, file: str = "costs.sql") -> str:
    project = Project((Script(sql, file),), ordered=True)
    traced = trace_project(project, dialect="duckdb", references=True)
    page = folder / "lineage.html"
    page.write_text(to_html(project, traced, dialect="duckdb"), encoding="utf-8")
    return page.as_uri()


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    opened, problems = open_page(browser, written_page(tmp_path_factory.mktemp("page"), SQL))
    opened.wait_for_selector(".table")
    yield opened
    assert problems == []


def test_every_table_and_column_is_drawn(page: Any) -> None:
    tables = page.eval_on_selector_all(".table", "all => all.map(t => t.dataset.table)")
    assert {"cur", "costs", "monthly", "ranked", "report", "accounts", "elsewhere"} <= set(tables)
    assert page.locator("svg path.edge").count() > 10
    assert page.locator("svg.edges path.doubt").count() >= 1
    assert "CREATE VIEW costs AS" in page.inner_text(".editor .cm-content")


def test_boxes_do_not_cover_each_other(page: Any) -> None:
    boxes = page.eval_on_selector_all(
        ".table", "all => all.map(t => t.getBoundingClientRect()).map(b => [b.x, b.y, b.width, b.height])"
    )
    for number, (x1, y1, w1, h1) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[number + 1 :]:
            assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1


def test_a_click_shows_where_a_column_comes_from_and_what_it_reaches(page: Any) -> None:
    page.click('.table[data-table="monthly"] .column[data-column="total"]')
    page.wait_for_selector(".column.up")
    assert columns_marked(page, "up") == {"costs.amount", "cur.unblended_cost"}
    assert columns_marked(page, "down") == {"ranked.total", "ranked.place", "report.total", "report.place"}
    assert page.locator("svg.edges path.edge.up").count() == 2
    assert "monthly.total" in page.inner_text("aside.details")
    page.check("text=only its paths")
    wait_for_count(page, ".table", 5)
    page.keyboard.press("Escape")
    page.wait_for_selector('.table[data-table="elsewhere"]')
    assert page.locator(".column.up").count() == 0
    assert "UNKNOWN_TABLE" in page.inner_text("aside.details")


def test_an_edge_shows_both_of_its_places(page: Any) -> None:
    page.dispatch_event("""path[data-edge='["costs","amount","monthly","total","value"]']""", "click")
    page.wait_for_selector(".editor .cm-mark-target")
    assert page.inner_text(".editor .cm-mark-source") == "amount"
    assert "sum(amount) AS total" in "".join(page.locator(".editor .cm-mark-target").all_inner_texts())
    page.keyboard.press("Escape")


def test_search_finds_a_column_and_predicates_can_be_shown(page: Any) -> None:
    page.fill("#search", "costs.amo")
    page.wait_for_selector("#search-results [role=option]")
    page.press("#search", "Enter")
    page.wait_for_selector("section[aria-label='picked column']")
    assert page.inner_text("aside.details h2 >> nth=0").startswith("costs.amount")
    before = page.locator("svg.edges path.edge").count()
    page.check("#predicates")
    page.wait_for_selector("svg.edges path.edge.filter")
    assert page.locator("svg.edges path.edge").count() > before


INJECTIONS = {
    "a script element": "document.body.append(Object.assign(document.createElement('script'), {text: 'pwned = 1'}))",
    "a script of another place": (
        "document.body.append(Object.assign(document.createElement('script'), {src: 'data:text/javascript,pwned = 1'}))"
    ),
    "a handler in markup": "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"pwned = 1\">')",
    "an address that is a script": (
        "document.body.insertAdjacentHTML('beforeend', '<a id=trap href=\"javascript:pwned = 1\">x</a>');"
        "document.getElementById('trap').click()"
    ),
    "a frame": "document.body.insertAdjacentHTML('beforeend', '<iframe src=\"data:text/html,<p>x\">')",
    "a form": (
        "document.body.insertAdjacentHTML('beforeend', '<form id=trap action=\"https://example.org/\"></form>');"
        "document.getElementById('trap').submit()"
    ),
}


@pytest.mark.parametrize("way", INJECTIONS)
def test_what_is_injected_does_not_run(browser: Any, tmp_path: Path, way: str) -> None:
    opened, problems = open_page(browser, written_page(tmp_path, SQL))
    # The refusal comes as an event when the browser has looked at what was injected.
    refused = opened.evaluate(
        f"""() => new Promise(done => {{
            document.addEventListener('securitypolicyviolation', event => done(event.effectiveDirective));
            {INJECTIONS[way]};
        }})"""
    )
    assert refused, way
    assert opened.evaluate("typeof pwned") == "undefined"
    assert any("Content Security Policy" in problem for problem in problems), problems
    assert not any(problem.startswith("https:") for problem in problems)
    opened.close()


HOSTILE = """CREATE TABLE "</script><script>pwned = 1</script>" ("<img src=x onerror='pwned = 1'>" INT);
CREATE VIEW "<b onclick=pwned>" AS SELECT "<img src=x onerror='pwned = 1'>" AS "</style><script>pwned = 1</script>"
FROM "</script><script>pwned = 1</script>" -- <!-- <script> ]]> \u2028
;
SELECT * FROM "<svg/onload=pwned=1>";
"""


def test_names_that_are_markup_are_shown_as_they_are(browser: Any, tmp_path: Path) -> None:
    file = "<script>pwned = 1</script>.sql"
    opened, problems = open_page(browser, written_page(tmp_path, HOSTILE, file))
    opened.wait_for_selector(".table")
    tables = opened.eval_on_selector_all(".table", "all => all.map(t => t.dataset.table)")
    assert {"</script><script>pwned = 1</script>", "<b onclick=pwned>", "<svg/onload=pwned=1>"} <= set(tables)
    opened.locator(".column").first.click()
    opened.fill("#search", "onerror")
    opened.wait_for_selector("#search-results [role=option]")
    for page in ("#/schema", "#/lineage?mode=list", "#/lineage?mode=matrix", "#/lineage?mode=overview"):
        opened.evaluate(f"location.hash = '{page}'")
        opened.wait_for_selector(".schema-table" if "schema" in page else ".canvas[data-mode]")
        assert opened.locator("img, svg[onload], b, #root script").count() == 0
    assert "pwned" in opened.content()
    assert opened.evaluate("typeof pwned") == "undefined"
    assert problems == []
    opened.close()
