"""What lies beside the data in a ZIP is never loaded, and becomes no column."""

import io
import zipfile
from decimal import Decimal

import pytest
from tests.pipeline.conftest import TYPES, Bills, csv_text

import lakebed
from lakebed.pipeline.reports import DeliveryReport

DATA = csv_text("a,1.5,USD,prod")
MORE = csv_text("b,2.5,USD,prod")
COSTS = [(Decimal("1.5"),), (Decimal("2.5"),)]


def archive(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name.replace("__", "."), text)
    return buffer.getvalue()


def load(bills: Bills, content: bytes, *, manifest: bool) -> DeliveryReport:
    if not manifest:
        (bills.folder / "bill.csv.zip").write_bytes(content)
        settings = {"report": "bill", "period": "2026-09"}
        return lakebed.run(bills.folder / "bill.csv.zip", bills.target, **settings).deliveries[0]  # type: ignore[arg-type]
    [path] = bills.deliver(DATA)
    (path.parent / "bill-00001.csv.zip").write_bytes(content)
    listed = path.parent / "bill-Manifest.json"
    listed.write_text(listed.read_text().replace("bill-00001.csv.gz", "bill-00001.csv.zip"))
    return bills.load()


@pytest.mark.parametrize("manifest", [True, False])
@pytest.mark.parametrize(
    "members",
    [
        {"notes__txt": "read me first", "one__csv": DATA, "two__CSV": MORE},
        {"one__csv": DATA, "LICENSE": "free", "two__csv": MORE, "picture__png": "\0\0"},
        {"._one__csv": "\0shadow", ".DS_Store": "\0", "one__csv": DATA, "folder/two__csv": MORE},
    ],
    ids=["before", "after", "shadows"],
)
def test_only_data_is_loaded(bills: Bills, members: dict[str, str], manifest: bool) -> None:
    report = load(bills, archive(**members), manifest=manifest)
    assert (report.state, report.rows, report.reconciled) == ("loaded", 2, True), report.error
    assert bills.rows("line_item_unblended_cost") == COSTS
    named = {str(name) for (name,) in bills.rows("column_name", "information_schema.columns")}
    assert "read_me_first" not in named
    assert "free" not in named


def test_the_only_file_is_data_whatever_it_is_called(bills: Bills) -> None:
    assert load(bills, archive(report=DATA), manifest=True).rows == 1


def test_where_names_do_not_tell_the_archive_is_refused(bills: Bills) -> None:
    report = load(bills, archive(report=DATA, notes__txt="read me first"), manifest=True)
    assert report.state == "failed"
    assert "report, notes.txt" in str(report.error)


def test_a_csv_that_is_no_data_is_refused_by_its_header(bills: Bills) -> None:
    report = load(bills, archive(one__csv=DATA, summary__csv="service,total\nEC2,4\n"), manifest=True)
    assert report.state == "failed"
    assert next(iter(TYPES)) in str(report.error)
