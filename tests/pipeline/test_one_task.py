"""Large files that are packed: which of them one task reads, as the plan says it, and which are read by several."""

import gzip
import io
import json
import zipfile
from decimal import Decimal

import pytest
from tests.pipeline.conftest import Bills, csv_text
from typer.testing import CliRunner

import lakebed
from lakebed.cli import build
from lakebed.engines.shared import packs
from lakebed.kernels import blocks
from lakebed.model import SourceFile
from lakebed.pipeline.one_task import describe_one_task_files
from lakebed.storage import Storage

ROWS = [f'line {number},{number}.25,USD,"a ""b""\nc"' for number in range(400)]
TEXT = csv_text(*ROWS)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "PART_BYTES", 1000)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 500)


def in_members(data: bytes, size: int = 700) -> bytes:
    return b"".join(gzip.compress(data[start : start + size]) for start in range(0, len(data), size))


def zipped(*texts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"{number}.csv", text)
    return buffer.getvalue()


def planned(bills: Bills) -> tuple[str, dict[str, object]]:
    words = ["plan", str(bills.folder / "bucket"), "--target", bills.target]
    text = CliRunner().invoke(build(words), words, catch_exceptions=False)
    as_json = CliRunner().invoke(build(words), [*words, "--json"], catch_exceptions=False)
    [delivery] = json.loads(as_json.stdout)["deliveries"]
    return text.stdout, delivery


def test_a_plan_says_which_file_is_read_by_one_task(bills: Bills) -> None:
    [path] = bills.deliver(TEXT)
    text, delivery = planned(bills)
    size = f"{path.stat().st_size / 1e6:,.1f} MB"
    note = f"bill-00001.csv.gz, {size}: gzip is read by one task, unless it has several members"
    assert delivery["notes"] == [note]
    assert note in text


def test_many_such_files_are_a_few_lines(bills: Bills) -> None:
    bills.deliver(*[TEXT] * 8)
    text, delivery = planned(bills)
    assert len(delivery["notes"]) == 8  # type: ignore[arg-type]
    assert text.count("read by one task, unless") == 5
    assert "and 3 more files, one task each" in text


def test_of_several_members_and_of_small_files_nothing_is_said(bills: Bills, monkeypatch: pytest.MonkeyPatch) -> None:
    bills.deliver(TEXT, pack=in_members)
    assert planned(bills)[1]["notes"] == []
    monkeypatch.undo()
    monkeypatch.chdir(bills.folder)
    bills.deliver(TEXT)
    assert planned(bills)[1]["notes"] == []


def test_a_zip_of_one_file_is_read_by_one_task_too(bills: Bills) -> None:
    def notes(content: bytes) -> tuple[str, ...]:
        path = bills.folder / "bill.zip"
        path.write_bytes(content)
        return describe_one_task_files([SourceFile(str(path), "x/bill.zip", "csv", "zip", len(content))], Storage())

    assert notes(zipped(TEXT)) == ("bill.zip, 0.0 MB: the one file in the ZIP is read by one task",)
    assert notes(zipped(TEXT, TEXT)) == ()


@pytest.mark.parametrize("header_again", [False, True])
def test_members_are_loaded_by_several_tasks_as_one_text(bills: Bills, header_again: bool) -> None:
    """A header in a later member is a row like any other, and refused as it is when one task reads it."""
    half = TEXT.index("line 200,")
    second = (csv_text() if header_again else "") + TEXT[half:]

    def pack(_: bytes) -> bytes:
        return in_members(TEXT[:half].encode()) + in_members(second.encode())

    bills.deliver(TEXT, pack=pack)
    report = bills.load()
    if header_again:
        assert report.state == "failed"
        assert "line 402" in str(report.error)
        assert "lineItem/UnblendedCost" in str(report.error)
        return
    assert (report.state, report.rows, report.reconciled) == ("loaded", 400, True), report.error
    costs = [row[0] for row in bills.rows("line_item_unblended_cost")]
    assert sum(costs) == sum(Decimal(f"{number}.25") for number in range(400))  # type: ignore[arg-type]


def test_an_ingest_reads_members_apart_too(bills: Bills, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[list[int]]] = []
    pack_files = packs.pack_files
    monkeypatch.setattr(
        "lakebed.engines.arrow.load.pack_files", lambda files: seen.append(pack_files(files)) or pack_files(files)
    )
    folder = bills.folder / "exports"
    folder.mkdir()
    (folder / "all.csv.gz").write_bytes(in_members(TEXT.encode()))
    report = lakebed.ingest(folder, f"duckdb:{bills.folder / 'shop'}", name="orders")
    assert (report.loaded, report.rows) == (400, 400)
    assert len(seen[-1]) > 5
