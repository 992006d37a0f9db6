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
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    scripts = [Script(SQL, "costs.sql")]
    file = tmp_path_factory.mktemp("page") / "lineage.html"
    file.write_text(export(lakebed.analyze(scripts, dialect="duckdb"), "html", ScriptTexts(scripts)), encoding="utf-8")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=chromium,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        opened = browser.new_page(viewport={"width": 1400, "height": 800})
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("request", lambda request: problems.append(request.url) if "file:" not in request.url else None)
        opened.goto(file.as_uri())
        yield opened
        assert problems == []
        browser.close()


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
