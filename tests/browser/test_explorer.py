"""The explorer in a real browser: every way through it, on projects of several sizes, read by axe too."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.support import ROOT
from tests.support.arrow_runs import use_arrow
from tests.support.browsers import chromium, columns_marked, open_page, wait_for_count
from tests.support.sql_projects import make_project

import lakebed

pytestmark = [pytest.mark.browser, pytest.mark.processes]

MODELS = {
    "staging/costs.sql": """CREATE TABLE cur (
  line_item_id STRING, account_id STRING, service STRING,
  usage_date DATE, unblended_cost DECIMAL(38, 18), tags MAP(STRING, STRING)
);
CREATE VIEW costs AS
SELECT account_id AS account, service, usage_date AS day, unblended_cost AS amount
FROM cur WHERE unblended_cost <> 0;
""",
    "marts/monthly.sql": """CREATE TEMP TABLE monthly AS
SELECT account, date_trunc('month', day) AS month, sum(amount) AS total,
       CASE WHEN service = 'EC2' THEN amount END AS compute
FROM costs GROUP BY ALL;
CREATE TABLE ranked AS
SELECT account, total, rank() OVER (PARTITION BY month ORDER BY total DESC) AS place FROM monthly;
""",
    "marts/report.sql": """CREATE TABLE report AS
SELECT r.account, r.total, r.place, a.owner
FROM ranked r JOIN accounts a ON r.account = a.account;
CREATE VIEW chargeback AS SELECT owner, sum(total) AS total FROM report GROUP BY owner;
CREATE VIEW everything AS SELECT * FROM elsewhere;
""",
}
# `LAKEBED_WRITE_SCREENSHOTS=1` puts what the tests see into the documentation.
PICTURES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as launched:
        yield launched


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[str]:
    command = [sys.executable, "-c", "from lakebed.cli import main; main()", "ui", *arguments, "--no-open", "--json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield json.loads(server.stdout.readline())["url"]
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert server.returncode == 0


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explored")
    for name, sql in MODELS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(sql)
    lakebed.sample(folder / "bills", months=3, rows=40)
    with pytest.MonkeyPatch.context() as patch:
        use_arrow(patch)
        patch.chdir(folder)
        lakebed.run("bills", "duckdb:costs.duckdb")
    return folder


@pytest.fixture(scope="module")
def url(project: Path) -> Iterator[str]:
    with serving(project, "staging", "marts", "--dialect", "duckdb") as served:
        yield served


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    opened, problems = open_page(browser, url)
    opened.wait_for_selector(".table, .page-head")
    yield opened
    opened.close()
    assert problems == []


def go(page: Any, address: str, wait: str) -> None:
    page.evaluate(f"location.hash = {json.dumps(address)}")
    page.wait_for_selector(wait)


def picture(page: Any, name: str, tmp_path: Path) -> None:
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(250)
    folder = PICTURES if os.environ.get("LAKEBED_WRITE_SCREENSHOTS") else tmp_path
    folder.mkdir(exist_ok=True)
    page.screenshot(path=str(folder / f"explorer-{name}.png"))


def require_accessible(page: Any) -> None:
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    told = [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in serious]
    assert told == []


def test_a_column_is_followed_and_the_address_keeps_it(page: Any, tmp_path: Path) -> None:
    assert "token" not in page.url
    page.click('.table[data-table="monthly"] .column[data-column="total"]')
    page.wait_for_selector(".column.up")
    assert columns_marked(page, "up") == {"costs.amount", "cur.unblended_cost"}
    assert {"ranked.total", "ranked.place", "report.total", "chargeback.total"} <= columns_marked(page, "down")
    picture(page, "lineage", tmp_path)
    link = page.url
    page.check("text=only its paths")
    page.wait_for_selector('.table[data-table="elsewhere"]', state="detached")
    page.go_back()
    page.wait_for_selector('.table[data-table="elsewhere"]')
    assert page.url == link
    page.reload()
    page.wait_for_selector(".column.picked")
    assert columns_marked(page, "up") == {"costs.amount", "cur.unblended_cost"}


def test_tables_are_focused_grown_hidden_and_grouped(page: Any) -> None:
    page.click('.table[data-table="monthly"] .table-name')
    wait_for_count(page, ".table", 3)
    page.wait_for_selector(".editor .cm-mark-statement >> text=monthly")
    page.click('.table[data-table="costs"] .grow-up')
    page.wait_for_selector('.table[data-table="cur"]')
    page.click('.table[data-table="cur"] .more')
    page.wait_for_selector('.table[data-table="cur"] [data-column="tags"]')
    page.click('.table[data-table="ranked"] .hide')
    page.wait_for_selector('.table[data-table="ranked"]', state="detached")
    page.click("text=1 hidden")
    page.wait_for_selector('.table[data-table="ranked"]')
    page.click("text=Show all")
    page.wait_for_selector('.table[data-table="chargeback"]')
    page.select_option("select[aria-label='group by']", "folder")
    page.wait_for_selector(".table.group")
    page.click(".table.group >> text=marts")
    page.wait_for_selector('.table[data-table="monthly"]')


def test_edges_lead_into_the_sql_and_the_sql_into_the_graph(page: Any) -> None:
    page.dispatch_event("""path[data-edge='["costs", "amount", "monthly", "total", "value"]']""", "click")
    page.wait_for_selector(".editor .cm-mark-target")
    assert page.inner_text(".editor .cm-mark-source") == "amount"
    assert "sum(amount) AS total" in "".join(page.locator(".editor .cm-mark-target").all_inner_texts())
    page.locator(".editor .cm-line", has_text="GROUP BY ALL").get_by_text("FROM").click()
    page.wait_for_selector('.table.focused[data-table="monthly"]')


def test_the_graph_follows_what_is_typed(page: Any, project: Path) -> None:
    before = (project / "marts/report.sql").read_text()
    page.click(".file >> text=report.sql")
    page.wait_for_selector(".editor .cm-line >> text=chargeback")
    page.locator(".editor .cm-line", has_text="elsewhere").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nCREATE VIEW typed AS SELECT total AS fresh FROM report;")
    page.wait_for_selector('.table[data-table="typed"]')
    assert page.locator('.table[data-table="typed"] [data-column="fresh"]').count() == 1
    assert (project / "marts/report.sql").read_text() == before
    page.click("text=Undo edits")
    page.wait_for_selector('.table[data-table="typed"]', state="detached")


def test_list_matrix_and_overview(page: Any, tmp_path: Path) -> None:
    page.click(".toolbar >> text=List")
    page.wait_for_selector(".grid-row >> text=cur.unblended_cost")
    picture(page, "list", tmp_path)
    require_accessible(page)
    page.click(".grid-head >> text=from")
    page.wait_for_selector(".grid-head [aria-sort=ascending] >> text=from")
    with page.expect_download() as download:
        page.click(".list-bar >> text=CSV")
    rows = Path(download.value.path()).read_text().splitlines()
    assert rows[0].startswith("source,source_column,target")
    assert any(row.startswith("monthly,total,ranked,total,value") for row in rows)
    page.click(".toolbar >> text=Matrix")
    page.wait_for_selector(".matrix-cell")
    picture(page, "matrix", tmp_path)
    require_accessible(page)
    page.click(".matrix-cell >> nth=0")
    wait_for_count(page, ".table", 2)
    page.click(".toolbar >> text=Overview")
    page.wait_for_selector(".overview canvas")
    picture(page, "overview", tmp_path)


def test_pictures_of_what_is_seen(page: Any) -> None:
    kinds = {"PNG": b"\x89PNG", "SVG": b"<svg", "Mermaid": b"flowchart LR"}
    for name, begin in kinds.items():
        page.click(".menu summary")
        with page.expect_download() as download:
            page.click(f".menu button >> text={name}")
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(begin)
        if name != "PNG":
            assert b"monthly" in content
        page.click(".menu summary")


def test_the_schema_and_its_doubts(page: Any, tmp_path: Path) -> None:
    page.click("nav >> text=Schema")
    page.wait_for_selector('.schema-table[data-table="monthly"]')
    assert "temporary" in page.inner_text('.schema-table[data-table="monthly"]')
    picture(page, "schema", tmp_path)
    require_accessible(page)
    page.fill('[data-prompt="accounts"] textarea', "account, owner, region")
    page.click('[data-prompt="accounts"] button.primary')
    page.wait_for_selector('[data-prompt="accounts"]', state="detached")
    page.click("[role=tab] >> text=imported")
    page.wait_for_selector('.schema-table[data-table="accounts"]')
    with page.expect_download() as download:
        page.click("text=Export JSON")
    exported = json.loads(Path(download.value.path()).read_text())
    assert [column["name"] for column in exported["tables"][0]["columns"]] == ["account", "owner", "region"]
    page.click("text=Forget 1 imported table")
    page.wait_for_selector('[data-prompt="accounts"]')
    page.set_input_files("input[type=file]", download.value.path())
    page.wait_for_selector('.schema-table[data-table="accounts"]')
    page.click("[role=tab] >> text=hybrid")
    page.click('.schema-table[data-table="ranked"] >> text=created in statement')
    page.wait_for_selector('.table.focused[data-table="ranked"]')
    page.wait_for_selector(".editor .cm-mark-statement >> text=ranked")


def test_impact_and_deliveries(page: Any, tmp_path: Path) -> None:
    go(page, "#/impact?tab=costs.amount%01drop", ".breaks li")
    assert "monthly.sql" in page.inner_text(".breaks")
    assert "chargeback.total" in page.inner_text(".paths")
    picture(page, "impact", tmp_path)
    require_accessible(page)
    page.click("nav >> text=Deliveries")
    page.wait_for_selector(".numbers tbody tr")
    assert "superseded" in page.inner_text(".numbers")
    page.click(".numbers tbody tr.loaded button")
    page.wait_for_selector(".sums tbody tr")
    assert page.locator(".sums tr.differs").count() == 0
    picture(page, "deliveries", tmp_path)
    require_accessible(page)


def test_columns_over_time_and_costs(page: Any, tmp_path: Path) -> None:
    page.click("nav >> text=Columns")
    page.wait_for_selector(".over-time-row")
    assert page.locator(".over-time-row").count() < 80, "rows that are not in sight are not drawn"
    picture(page, "columns", tmp_path)
    require_accessible(page)
    page.fill("input[aria-label='find a column']", "gone")
    page.wait_for_selector(".presence.gone")
    page.click("nav >> text=Costs")
    page.wait_for_selector(".numbers tr.total")
    page.select_option("select[aria-label='by']", "line_item_product_code")
    page.wait_for_selector(".numbers tbody tr:not(.total)")
    picture(page, "costs", tmp_path)
    require_accessible(page)
    with page.expect_download() as download:
        page.click("text=CSV")
    rows = Path(download.value.path()).read_text().splitlines()
    assert rows[0].startswith("line_item_product_code,currency,")
    assert rows[-1].startswith("total,USD,")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_read_by_everybody(page: Any, tmp_path: Path, theme: str) -> None:
    if theme == "dark":
        page.click("[aria-label='use dark colours']")
        page.wait_for_selector("html[data-theme=dark]")
    require_accessible(page)
    page.click('.table[data-table="monthly"] .column[data-column="total"]')
    page.wait_for_selector(".column.up")
    require_accessible(page)
    picture(page, theme, tmp_path)
    # by keyboard alone: the search, and out of it again
    page.keyboard.press("/")
    page.keyboard.type("chargeback.total")
    page.wait_for_selector("#search-results [role=option]")
    page.keyboard.press("Enter")
    page.wait_for_selector("aside.details h2 >> text=chargeback.total")


@pytest.mark.parametrize("width", [1280, 2560])
def test_nothing_is_cut_off(browser: Any, url: str, width: int) -> None:
    page, problems = open_page(browser, url, width=width, height=1000)
    page.wait_for_selector(".table")
    for address in ("#/lineage", "#/schema", "#/impact", "#/deliveries", "#/columns", "#/costs"):
        go(page, address, "main > *")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
    assert problems == []


@pytest.mark.parametrize("tables", [40, 300, pytest.param(10_000, marks=pytest.mark.full)])
def test_projects_of_any_size(browser: Any, tmp_path: Path, tables: int) -> None:
    make_project(tmp_path / "models", tables)
    with serving(tmp_path, "models", "--dialect", "duckdb") as url:
        page, problems = open_page(browser, url)
        page.wait_for_selector(".table")
        assert page.locator(".table").count() <= 60
        last = f"t{tables - 1:05}"
        page.fill("#search", f"{last}.c1")
        page.wait_for_selector("#search-results [role=option]")
        page.press("#search", "Enter")
        page.wait_for_selector(f'.table[data-table="{last}"] .column.picked')
        page.check("text=only its paths")
        page.wait_for_selector(".column.up")
        page.click(".toolbar >> text=Overview")
        page.wait_for_selector(".overview canvas")
        picture(page, f"overview-{tables}", tmp_path)
        page.click(".toolbar >> text=List")
        page.wait_for_selector(".grid-row")
        page.close()
        assert problems == []


def test_an_empty_work_directory_teaches_the_first_step(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        page, problems = open_page(browser, url)
        page.wait_for_selector(".editor .cm-content")
        page.click(".editor .cm-content")
        page.keyboard.type("CREATE VIEW v AS SELECT a FROM t")
        page.wait_for_selector('.table[data-table="v"]')
        page.click("nav >> text=Deliveries")
        page.wait_for_selector("code >> text=lakebed run")
        page.close()
        assert problems == []
