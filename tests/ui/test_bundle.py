"""The built pages: small enough, built from the source beside them, from a lock file that names no registry."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support import ROOT

WEB = ROOT / "web"
STATIC = ROOT / "src" / "lakebed" / "ui" / "static"
LARGEST = 400_000


def test_it_is_small_enough() -> None:
    sizes = {file.name: len(gzip.compress(file.read_bytes())) for file in STATIC.iterdir() if file.suffix != ".json"}
    assert set(sizes) == {"index.html", "explorer.js", "explorer.css"}
    assert sum(sizes.values()) <= LARGEST, sizes


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_inline() -> None:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'(?:src|href)="([^"]*)"', page)) == {"/explorer.js", "/explorer.css", "data:,"}
    assert re.findall(r"<script[^>]*>([^<]+)</script>|<style|\son\w+=|\sstyle=", page) == []
    assert "url(" not in (STATIC / "explorer.css").read_text(encoding="utf-8").replace("url(data:", "")


def test_the_lock_file_names_no_host_and_every_package_by_its_hash() -> None:
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    assert [name for name, facts in packages.items() if "resolved" in facts] == []
    assert [name for name, facts in packages.items() if name and not facts.get("integrity")] == []


def sources_digest() -> str:
    """What the bundle is built from."""
    digest = hashlib.sha256()
    files = [*WEB.glob("*.json"), *WEB.glob("*.ts"), *WEB.glob("*.html"), *(WEB / "src").rglob("*")]
    for file in sorted(one for one in files if one.is_file()):
        digest.update(str(file.relative_to(WEB)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def test_it_was_built_from_the_source_that_is_there() -> None:
    """Without Node too: `make web` writes down what it has built from."""
    recorded = json.loads((STATIC / "built-from.json").read_text(encoding="utf-8"))
    assert recorded["sources"] == sources_digest(), "run `make web`"
    for name, digest in recorded["files"].items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest, f"{name}: run `make web`"


@pytest.mark.processes
def test_building_it_again_gives_the_same_bytes() -> None:
    done = subprocess.run(["scripts/web", "check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    if "skipped" in done.stderr:
        pytest.skip(done.stderr.strip())


@pytest.mark.processes
def test_without_node_the_comparison_says_so(tmp_path: Path) -> None:
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run(
        ["scripts/web", "check"], cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "skipped, because there is no Node" in done.stderr
