"""A real Chromium, and pages that remember what went wrong in them."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Milliseconds: a busy machine takes its time, and a failure is seen all the same.
PATIENCE = 300_000


@contextmanager
def chromium() -> Iterator[Any]:
    """The machine's own Chromium; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=found,
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield launched
        launched.close()


def open_page(browser: Any, address: str, *, width: int = 1400, height: int = 850) -> tuple[Any, list[str]]:
    """The page, and what goes wrong in it: errors, requests that leave it, what its policy refuses."""
    opened = browser.new_page(viewport={"width": width, "height": height})
    opened.set_default_timeout(PATIENCE)
    problems: list[str] = []
    own = address.partition("?")[0]
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    opened.on(
        "request",
        lambda request: None if request.url.startswith((own, "data:", "blob:")) else problems.append(request.url),
    )
    opened.goto(address)
    return opened, problems


def columns_marked(page: Any, mark: str) -> set[str]:
    """The columns that the graph shows with a mark, as table.column."""
    script = "all => all.map(c => c.closest('.table').dataset.table + '.' + c.dataset.column)"
    return set(page.eval_on_selector_all(f".column.{mark}", script))


def wait_for_count(page: Any, selector: str, count: int) -> None:
    """Waits until so many elements are there. The page's policy forbids it to evaluate a condition given as text."""
    from playwright.sync_api import expect

    expect(page.locator(selector)).to_have_count(count, timeout=PATIENCE)
