"""The HTML format in a real browser: the graph is drawn, and a click shows what a column comes from and reaches."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import lakebed
from lakebed.lineage import Script
from lakebed.lineage.export import export
from lakebed.lineage.export.script_texts import ScriptTexts

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
def browser() -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=chromium,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


def written_page(folder: Path, sql: str, file: str = "costs.sql") -> Path:
    scripts = [Script(sql, file)]
    page = folder / "lineage.html"
    page.write_text(export(lakebed.analyze(scripts, dialect="duckdb"), "html", ScriptTexts(scripts)), encoding="utf-8")
    return page


def opened_page(browser, file: Path):  # type: ignore[no-untyped-def]
    """The page, and what goes wrong in it: errors, requests that leave the machine, what its policy refuses."""
    opened = browser.new_page(viewport={"width": 1400, "height": 800})
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    opened.on("request", lambda request: problems.append(request.url) if "file:" not in request.url else None)
    opened.goto(file.as_uri())
    return opened, problems


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:  # type: ignore[no-untyped-def]
    opened, problems = opened_page(browser, written_page(tmp_path_factory.mktemp("page"), SQL))
    yield opened
    assert problems == []


def test_every_table_and_column_is_drawn(page) -> None:  # type: ignore[no-untyped-def]
    tables = page.eval_on_selector_all(".table", "all => all.map(t => t.dataset.table)")
    assert {"cur", "costs", "monthly", "ranked", "report", "accounts", "elsewhere"} <= set(tables)
    assert page.locator("svg path").count() > 10
    assert page.locator("svg path.doubt").count() >= 1


def test_boxes_do_not_cover_each_other(page) -> None:  # type: ignore[no-untyped-def]
    boxes = page.eval_on_selector_all(
        ".table", "all => all.map(t => [t.offsetLeft, t.offsetTop, t.offsetWidth, t.offsetHeight])"
    )
    for number, (x1, y1, w1, h1) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[number + 1 :]:
            assert x1 + w1 <= x2 or x2 + w2 <= x1 or y1 + h1 <= y2 or y2 + h2 <= y1


def test_a_click_shows_where_a_column_comes_from_and_what_it_reaches(page, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page.click('.table[data-table="monthly"] .column[data-column="total"]')
    lit = page.eval_on_selector_all(".column.up", "all => all.map(c => c.title)")
    assert set(lit) == {"costs.amount", "cur.unblended_cost"}
    reached = page.eval_on_selector_all(".column.down", "all => all.map(c => c.title)")
    assert set(reached) == {"ranked.total", "ranked.place", "report.total", "report.place"}
    assert page.locator("svg path.up").count() == 2
    side = page.inner_text("aside")
    assert "monthly.total" in side
    assert "CREATE TABLE monthly AS" in side
    page.screenshot(path=str(tmp_path / "picked.png"))
    page.keyboard.press("Escape")
    assert page.locator(".column.up").count() == 0
    assert "UNKNOWN_TABLE" in page.inner_text("aside")


def test_search_finds_a_column_and_predicates_can_be_shown(page) -> None:  # type: ignore[no-untyped-def]
    page.fill("#search", "costs.amo")
    assert page.inner_text("aside h2 >> nth=0") == "costs.amount"
    before = page.locator("svg path").count()
    page.check("#predicates")
    assert page.locator("svg path").count() > before
    page.fill("#search", "")


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
def test_what_is_injected_does_not_run(browser, tmp_path: Path, way: str) -> None:  # type: ignore[no-untyped-def]
    opened, problems = opened_page(browser, written_page(tmp_path, SQL))
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


def test_names_that_are_markup_are_shown_as_they_are(browser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = "<script>pwned = 1</script>.sql"
    opened, problems = opened_page(browser, written_page(tmp_path, HOSTILE, file))
    tables = opened.eval_on_selector_all(".table", "all => all.map(t => t.dataset.table)")
    assert {"</script><script>pwned = 1</script>", "<b onclick=pwned>", "<svg/onload=pwned=1>"} <= set(tables)
    opened.locator(".column").first.click()
    opened.fill("#search", "onerror")
    assert opened.locator("img, svg[onload], b, .table script").count() == 0
    assert opened.evaluate("typeof pwned") == "undefined"
    assert problems == []
    opened.close()
