"""Every layout is found, wherever it is mirrored, and the newest delivery of a month counts."""

import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support import SHARED
from tests.support.steps import count_steps

from lakebed.errors import ConfigError, NotFound
from lakebed.model import Delivery
from lakebed.samples import SampleSpec, SampleTruth, make_sample
from lakebed.source.deliveries import folder_period
from lakebed.source.discover import DiscoverReport, find_deliveries
from lakebed.source.filters import DiscoverFilters, months_ago
from lakebed.source.header import with_columns
from lakebed.storage import Entry, Storage

SAMPLES = SHARED / "samples" / "cur"
UUIDS = ("ea74f90b-e82f-9c72-fab6-abc716793752", "0b5c6f3e-1111-4222-8333-444455556666")


def found(source: Path | str, **filters: str) -> DiscoverReport:
    return find_deliveries(str(source), Storage(), DiscoverFilters(**filters))


def ids(deliveries: tuple[Delivery, ...]) -> list[tuple[str, str]]:
    return [(delivery.slice.period, delivery.id) for delivery in deliveries]


def same_as(truth: SampleTruth, discovered: DiscoverReport) -> None:
    """What was discovered is what was made: deliveries, files and columns, the newest first."""
    expected = sorted(truth.current, key=lambda each: each.period, reverse=True)
    assert ids(discovered.deliveries) == [(each.period, each.delivery) for each in expected]
    old = [(each.period, each.delivery) for each in truth.deliveries if not each.current]
    assert ids(discovered.superseded) == old
    for delivery, made in zip(discovered.deliveries, expected, strict=True):
        assert delivery.complete
        assert tuple(file.key for file in delivery.files) == made.files
        assert delivery.slice.payer == made.payer
        assert delivery.slice.report == made.report
        assert tuple(column.original for column in with_columns(delivery, Storage()).columns) == made.columns
    assert discovered.skipped == ()


LAYOUTS = {
    "cur": SampleSpec(),
    "cur, uuid": SampleSpec(ids="uuid"),
    "cur, zip": SampleSpec(format="zip"),
    "cur, plain csv": SampleSpec(format="csv"),
    "cur, overwritten": SampleSpec(layout="overwrite"),
    "cur, parquet": SampleSpec(format="parquet"),
    "cur, no types": SampleSpec(typed=False),
    "cur, empty prefix": SampleSpec(prefix=""),
    "cur, deep prefix": SampleSpec(prefix="a/b/20260901-20261001/c"),
    "cur, odd name": SampleSpec(report="cur+v1.(daily)*[x]$"),
    "cur2": SampleSpec(kind="cur2"),
    "cur2, overwritten": SampleSpec(kind="cur2", layout="overwrite"),
    "cur2, parquet": SampleSpec(kind="cur2", format="parquet"),
    "focus": SampleSpec(kind="focus"),
    "focus, parquet, overwritten": SampleSpec(kind="focus", format="parquet", layout="overwrite"),
    "focus, no columns": SampleSpec(kind="focus", typed=False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout(tmp_path: Path, layout: str) -> None:
    spec = LAYOUTS[layout]
    truth = make_sample(tmp_path, months=3, rows=8, columns=80, spec=spec)
    discovered = found(tmp_path)
    same_as(truth, discovered)
    assert discovered.warnings == ()
    for delivery in discovered.deliveries:
        assert with_columns(delivery, Storage()).kind == spec.kind
        assert delivery.overwritten_in_place == (
            spec.layout == "overwrite" or (spec.kind == "cur" and spec.format == "parquet")
        )


def test_a_dated_prefix_does_not_mislead_the_filters(tmp_path: Path) -> None:
    make_sample(tmp_path / "20250101-20250201", months=3, rows=4, columns=80, spec=LAYOUTS["cur, deep prefix"])
    assert [each.slice.period for each in found(tmp_path, since="2026-10").deliveries] == ["2026-10"]
    manifest = next(tmp_path.rglob("20261001-20261101/sample-report-Manifest.json"))
    assert found(manifest).deliveries[0].complete


def test_a_dated_folder_above_plain_files_is_not_their_period(tmp_path: Path) -> None:
    backup = tmp_path / "20250101-20250201"
    backup.mkdir()
    (backup / "a.csv").write_text("cost\n1\n")
    with pytest.raises(ConfigError):
        found(backup, report="mine")
    assert found(backup, report="mine", period="2026-09").deliveries[0].slice.period == "2026-09"


@pytest.mark.parametrize("layout", ["cur", "cur, overwritten", "cur2", "focus, parquet, overwritten"])
@pytest.mark.parametrize("root", ["billing", "billing/sample-report", "elsewhere/deeper"])
def test_mirrors_with_other_roots(tmp_path: Path, layout: str, root: str) -> None:
    truth = make_sample(tmp_path / "bucket", months=2, rows=4, columns=80, spec=LAYOUTS[layout])
    (tmp_path / "bucket" / "truth.json").unlink()
    mirror = tmp_path / "mirror" / "cur"
    if (tmp_path / "bucket" / root).exists():
        shutil.copytree(tmp_path / "bucket" / root, mirror)
    else:
        shutil.copytree(tmp_path / "bucket", mirror / root)
    same_as(truth, found(mirror))


def test_a_mirror_of_one_month_and_of_one_delivery(tmp_path: Path) -> None:
    truth = make_sample(tmp_path / "bucket", months=2, rows=4, columns=80)
    month = tmp_path / "bucket/billing/sample-report/20260901-20261001"
    newest = next(each for each in truth.current if each.period == "2026-09")
    for folder in (month, month / newest.delivery):
        shutil.copytree(folder, tmp_path / folder.name / "x", dirs_exist_ok=True)
        discovered = found(tmp_path / folder.name)
        assert ids(discovered.deliveries) == [("2026-09", newest.delivery)]
        assert discovered.deliveries[0].complete


def test_a_manifest_is_a_source_of_its_own(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=2, rows=4, columns=80)
    old = next(each for each in truth.deliveries if not each.current)
    discovered = found(tmp_path / old.manifest)
    assert ids(discovered.deliveries) == [(old.period, old.delivery)]
    assert discovered.deliveries[0].complete
    export = make_sample(tmp_path / "cur2", months=1, rows=4, spec=SampleSpec(kind="cur2")).current[0]
    discovered = found(tmp_path / "cur2" / export.manifest)
    assert ids(discovered.deliveries) == [(export.period, export.delivery)]
    assert discovered.deliveries[0].complete


def test_several_reports_and_payers_under_one_prefix(tmp_path: Path) -> None:
    for report, payer in (("daily", "000000000001"), ("hourly", "000000000001"), ("daily-eu", "000000000002")):
        make_sample(tmp_path, months=2, rows=4, columns=80, spec=SampleSpec(report=report, payer=payer))
    discovered = found(tmp_path)
    assert len(discovered.deliveries) == 6
    assert len(discovered.superseded) == 3
    assert {delivery.slice.report for delivery in found(tmp_path, report="daily").deliveries} == {"daily"}
    assert {delivery.slice.report for delivery in found(tmp_path, payer="000000000002").deliveries} == {"daily-eu"}
    assert ids(found(tmp_path, report="hourly", period="2026-09").deliveries) == ids(
        tuple(
            each for each in discovered.deliveries if each.slice.report == "hourly" and each.slice.period == "2026-09"
        )
    )
    assert {each.slice.period for each in found(tmp_path, since="2026-10").deliveries} == {"2026-10"}
    assert "15 manifests are of other periods" in found(tmp_path, since="2026-11").warnings[0]
    nothing = found(tmp_path, report="weekly")
    assert nothing.deliveries == ()
    assert "daily 2026-09 of 000000000001" in nothing.warnings[0]


@pytest.mark.parametrize("packing", ["gzip", "parquet"])
def test_one_export_name_of_two_payers_is_two_reports(tmp_path: Path, packing: str) -> None:
    # The layout of central buckets: cur2/<payer>/<export>/..., and manifests that do not name the payer.
    payers = ("000000000001", "000000000002")
    for payer in payers:
        spec = SampleSpec(kind="cur2", payer=payer, prefix=f"cur2/{payer}", format=packing)  # type: ignore[arg-type]
        make_sample(tmp_path, months=1, rows=8, spec=spec)
    for path in tmp_path.rglob("*-Manifest.json"):
        facts = json.loads(path.read_text())
        del facts["accountId"], facts["exportArn"]
        path.write_text(json.dumps(facts))
    discovered = found(tmp_path)
    assert sorted(each.slice.payer for each in discovered.deliveries) == list(payers)
    assert sorted(each.slice.payer for each in discovered.superseded) == list(payers)
    assert discovered.warnings == ()
    assert [each.slice.payer for each in found(tmp_path, payer=payers[1]).deliveries] == [payers[1]]


def test_one_delivery_mirrored_twice_is_one(tmp_path: Path) -> None:
    truth = make_sample(tmp_path / "one", months=1, rows=8, spec=SampleSpec(kind="cur2"))
    for path in tmp_path.rglob("*-Manifest.json"):
        facts = json.loads(path.read_text())
        del facts["accountId"], facts["exportArn"]
        path.write_text(json.dumps(facts))
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    discovered = found(tmp_path)
    assert [each.id for each in discovered.deliveries] == [truth.current[0].delivery]
    assert [each.id for each in discovered.superseded] == [truth.deliveries[0].delivery]


def test_one_report_in_two_folders_is_said_aloud(tmp_path: Path) -> None:
    for prefix in ("a", "b"):
        make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(prefix=prefix, seed=2, ids="uuid"))
    shutil.rmtree(tmp_path / "b")
    assert found(tmp_path).warnings == ()
    truth = make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(prefix="b", seed=3, ids="uuid"))
    (warning,) = found(tmp_path).warnings
    assert "lies in 2 folders" in warning
    assert truth.current


def test_a_wrong_period_is_wrong_usage() -> None:
    for wrong in ("2026-13", "2026", "202610", "2026-10-01"):
        with pytest.raises(ConfigError, match="not a month"):
            DiscoverFilters(period=wrong)


def test_of_two_uuids_the_date_folder_names_the_newest(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(ids="uuid"))
    # A careless copy turned the times round.
    for number, delivery in enumerate(truth.deliveries):
        for path in (tmp_path / delivery.manifest).parent.iterdir():
            os.utime(path, (1_800_000_000 - number * 86_400,) * 2)
    assert ids(found(tmp_path).deliveries) == [("2026-10", truth.current[0].delivery)]


def test_without_the_date_folders_copy_the_times_decide(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(ids="uuid"))
    next(tmp_path.glob("billing/*/*/*-Manifest.json")).unlink()
    discovered = found(tmp_path)
    assert ids(discovered.deliveries) == [("2026-10", truth.current[0].delivery)]
    assert len(discovered.superseded) == 1


def test_a_missing_file_is_listed_and_no_namesake_takes_its_place(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=3, rows=8, columns=80)
    newest = next(each for each in truth.current if each.period == "2026-09")
    (tmp_path / newest.files[1]).unlink()
    # Leftovers of a time when the report was overwritten in place: the same name, one folder up, and at the very top.
    stray = tmp_path / newest.files[1]
    for folder in (stray.parent.parent, tmp_path):
        shutil.copy(tmp_path / newest.files[0], folder / stray.name)
    discovered = found(tmp_path)
    delivery = next(each for each in discovered.deliveries if each.slice.period == "2026-09")
    assert delivery.missing == (newest.files[1],)
    assert not delivery.complete
    assert [file.key for file in delivery.files] == [key for key in newest.files if key != newest.files[1]]
    assert any("1 of 4 files are missing" in warning and newest.files[1] in warning for warning in discovered.warnings)
    assert any("2 data files belong to no manifest" in warning for warning in discovered.warnings)


def test_all_files_missing_finds_none_of_another_delivery(tmp_path: Path) -> None:
    truth = make_sample(tmp_path, months=1, rows=8, columns=80)
    new = truth.current[0]
    for key in new.files:
        (tmp_path / key).unlink()
        shutil.copy(tmp_path / truth.deliveries[0].files[0], tmp_path / Path(key).name)
    delivery = found(tmp_path).deliveries[0]
    assert delivery.id == new.delivery
    assert delivery.missing == new.files
    assert delivery.files == ()


def test_a_manifest_that_points_outside_is_skipped_with_its_reason(tmp_path: Path) -> None:
    truth = make_sample(tmp_path / "bucket", months=1, rows=4, columns=80, spec=SampleSpec(restate=False))
    (tmp_path / "secret.csv.gz").write_bytes(b"secret")
    for path in (tmp_path / "bucket").rglob("*-Manifest.json"):
        facts = json.loads(path.read_text())
        facts["reportKeys"] = ["../secret.csv.gz"]
        path.write_text(json.dumps(facts))
    discovered = found(tmp_path / "bucket")
    assert discovered.deliveries == ()
    assert len(discovered.skipped) == 2
    assert "points outside its bucket" in discovered.skipped[0].reason
    assert "Manifest.json" in discovered.skipped[0].uri
    assert truth.current


def test_one_bad_manifest_does_not_hide_the_others(tmp_path: Path) -> None:
    make_sample(tmp_path, months=2, rows=4, columns=80)
    broken = next(tmp_path.glob("billing/*/20261001*/2*/*-Manifest.json"))
    broken.write_text('{"assemblyId": ')
    (tmp_path / "dbt").mkdir()
    (tmp_path / "dbt" / "manifest.json").write_text('{"nodes": {}}')
    discovered = found(tmp_path)
    # The copy in the date folder is still good.
    assert [period for period, _ in ids(discovered.deliveries)] == ["2026-10", "2026-09"]
    assert [each.uri for each in discovered.skipped] == [str(broken)]


def test_the_manifest_of_another_tool_does_not_hide_plain_files(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"nodes": {}}')
    (tmp_path / "a.csv").write_text("cost\n1\n")
    assert len(found(tmp_path, report="mine", period="2026-09").deliveries) == 1


def test_a_broken_manifest_is_not_got_round(tmp_path: Path) -> None:
    make_sample(tmp_path, months=1, rows=4, columns=80)
    for path in tmp_path.rglob("*-Manifest.json"):
        path.write_text("{")
    # Taken for plain files, both deliveries of the month would be loaded.
    discovered = found(tmp_path, report="sample-report", period="2026-10")
    assert discovered.deliveries == ()
    assert len(discovered.skipped) == 3


def test_parquet_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    make_sample(tmp_path, months=2, rows=4, columns=80, spec=SampleSpec(format="parquet"))
    status = next(tmp_path.rglob("cost_and_usage_data_status.parquet"))
    pq.write_table(pa.table({"status": ["UPDATING"]}), status)
    discovered = found(tmp_path)
    assert discovered.deliveries == ()
    assert len(discovered.skipped) == 2
    assert "is being written" in discovered.skipped[0].reason


def test_parquet_without_a_manifest_is_known_by_its_folders(tmp_path: Path) -> None:
    make_sample(tmp_path, months=2, rows=4, columns=80, spec=SampleSpec(format="parquet"))
    for path in tmp_path.rglob("*-Manifest.json"):
        path.unlink()
    discovered = found(tmp_path)
    assert [each.slice.period for each in discovered.deliveries] == ["2026-10", "2026-09"]
    assert {each.slice.report for each in discovered.deliveries} == {"sample-report"}
    assert {len(each.files) for each in discovered.deliveries} == {4}
    assert {each.slice.payer for each in found(tmp_path, payer="42").deliveries} == {"42"}


def test_plain_files_need_a_report_and_a_period(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("bill/PayerAccountId,cost\n000123456789,1\n")
    (tmp_path / "b.csv").write_text("bill/PayerAccountId,cost\n000123456789,2\n")
    (tmp_path / "notes.txt").write_text("not data")
    with pytest.raises(ConfigError, match="no manifest") as refused:
        found(tmp_path)
    assert "--report" in str(refused.value)
    discovered = found(tmp_path, report="mine", period="2026-09")
    (delivery,) = discovered.deliveries
    assert (delivery.slice.payer, delivery.slice.report, delivery.slice.period) == ("000123456789", "mine", "2026-09")
    assert [file.key for file in delivery.files] == ["a.csv", "b.csv"]
    assert delivery.kind == "plain"
    assert delivery.manifest is None
    assert found(tmp_path / "a.csv", report="mine", period="2026-09", payer="7").deliveries[0].slice.payer == "7"


def test_the_same_plain_files_are_the_same_delivery(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("cost\n1\n")
    first = found(tmp_path, report="mine", period="2026-09").deliveries[0]
    again = found(tmp_path, report="mine", period="2026-09").deliveries[0]
    assert first.id == again.id
    assert first.slice.payer == "unknown"
    (tmp_path / "a.csv").write_text("cost\n1\n2\n")
    assert found(tmp_path, report="mine", period="2026-09").deliveries[0].id != first.id


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        found(tmp_path / "absent")
    assert "no delivery found" in found(tmp_path).warnings[0]


def test_one_name_for_two_kinds_is_said_aloud(tmp_path: Path) -> None:
    make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(prefix="legacy", restate=False))
    make_sample(tmp_path, months=1, rows=4, columns=80, spec=SampleSpec(prefix="new", kind="cur2", restate=False))
    assert any("is delivered as cur and cur2" in warning for warning in found(tmp_path).warnings)


def deliver_many_files(place: Path, count: int) -> Path:
    folder = place / "billing/big/20260901-20261001/20261003T053622Z"
    folder.mkdir(parents=True)
    keys = [f"{folder.relative_to(place)}/big-{number:05d}.csv.gz" for number in range(count)]
    for key in keys:
        (place / key).write_bytes(b"x")
    manifest = {
        "assemblyId": "20261003T053622Z",
        "account": "1",
        "reportName": "big",
        "billingPeriod": {"start": "20260901T000000.000Z"},
        "reportKeys": keys,
        "columns": [{"category": "lineItem", "name": f"Column{number}", "type": "String"} for number in range(300)],
    }
    for manifests in (folder, folder.parent):
        (manifests / "big-Manifest.json").write_text(json.dumps(manifest))
    return place


def test_the_work_grows_with_the_number_of_files_and_no_faster(tmp_path: Path) -> None:
    few, many = (deliver_many_files(tmp_path / str(count), count) for count in (500, 5_000))
    found(few)
    assert count_steps(lambda: found(many)) < 11 * count_steps(lambda: found(few))
    (delivery,) = found(many).deliveries
    assert len(delivery.files) == 5_000
    assert delivery.complete


def test_many_files_are_listed_and_not_asked_for_one_by_one(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(Storage):
        def list(self, folder: str) -> Iterator[Entry]:
            asked.append(f"list {folder}")
            return super().list(folder)

        def read(self, uri: str) -> bytes:
            asked.append(f"read {uri}")
            return super().read(uri)

        def head(self, uri: str) -> Entry:
            asked.append(f"head {uri}")
            return super().head(uri)

    place = deliver_many_files(tmp_path, 1_000)
    (delivery,) = find_deliveries(str(place), Counting()).deliveries
    assert delivery.complete
    assert [each.split()[0] for each in asked] == ["list", "read", "read"], asked


@pytest.mark.skipif(not SAMPLES.exists(), reason="the shared samples are not here")
def test_a_mock_of_another_project() -> None:
    discovered = found(SAMPLES / "keboola_mock/tests/mock_data/cur_1_0/s3_structure")
    (cur,) = discovered.deliveries
    assert (cur.slice.report, cur.slice.period, cur.kind) == ("MockTestReport", "2024-01", "cur")
    assert cur.complete
    assert cur.files[0].compression == "zip"
    assert with_columns(cur, Storage()).columns == cur.columns
    (cur2,) = found(SAMPLES / "keboola_mock/tests/mock_data/cur_2_0/s3_structure").deliveries
    assert (cur2.slice.report, cur2.slice.period, cur2.kind) == ("MockTestReportV2", "2024-09", "cur2")
    assert cur2.id == "test-exec-id-12345"
    assert cur2.complete


@pytest.mark.skipif(not SAMPLES.exists(), reason="the shared samples are not here")
def test_a_real_manifest_of_2017_without_its_files() -> None:
    (delivery,) = found(SAMPLES / "metering_operator_manifest").deliveries
    assert delivery.slice.period == "2017-07"
    assert len(delivery.missing) == 2
    assert all(column.declared_type is None for column in delivery.columns)


def test_created_at_is_a_time_in_utc(tmp_path: Path) -> None:
    make_sample(tmp_path, months=1, rows=4, columns=80)
    assert found(tmp_path).deliveries[0].created_at == datetime(2026, 11, 8, 5, 36, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "month"),
    [("-0m", "2026-02"), ("-1m", "2026-01"), ("-2m", "2025-12"), ("-14m", "2024-12"), ("-3", None), ("3m", None)],
)
def test_a_month_may_be_told_from_now(text: str, month: str | None) -> None:
    assert months_ago(text, date(2026, 2, 28)) == month


def test_months_from_and_until(tmp_path: Path) -> None:
    make_sample(tmp_path, months=4, rows=4, columns=80, spec=SampleSpec(restate=False))
    between = found(tmp_path, since="2026-08", until="2026-09").deliveries
    assert [one.slice.period for one in between] == ["2026-09", "2026-08"]
    assert DiscoverFilters(since="-3m", until="-1m").wants_period(DiscoverFilters(period="-2m").period or "")
    for wrong in ({"since": "-3months"}, {"until": "soon"}, {"since": "2026-05", "until": "2026-04"}):
        with pytest.raises(ConfigError):
            DiscoverFilters(**wrong)


def test_a_manifest_of_an_export_brings_its_own_files_and_no_neighbours(tmp_path: Path) -> None:
    """Its folder `metadata` lies beside `data`, and other exports lie beside both."""
    for report in ("one", "other"):
        make_sample(tmp_path, spec=SampleSpec(kind="cur2", report=report, prefix="exports", months=1, rows=4))
    [manifest, *_] = sorted(tmp_path.rglob("exports/one/**/*Manifest.json"))
    discovered = found(manifest)
    assert {delivery.slice.report for delivery in discovered.deliveries} == {"one"}
    assert discovered.deliveries[0].complete
    assert discovered.warnings == ()


@pytest.mark.parametrize(
    ("folders", "period"),
    [
        ("a/20261201-20270101/x", "2026-12"),
        ("a/BILLING_PERIOD=2026-11/x", "2026-11"),
        ("year=2026/month=1", "2026-01"),
        ("year=2026/month=12", "2026-12"),
        ("year=2026/month=13", None),
        ("year=2026/month=0", None),
        ("month=12", None),
        ("20260901-20261001/year=2026/month=10", "2026-10"),
        ("a/b", None),
    ],
)
def test_the_month_that_folders_name(folders: str, period: str | None) -> None:
    assert folder_period(folders.split("/")) == period


def test_where_there_is_nothing_it_says_what_was_looked_at(tmp_path: Path) -> None:
    for count, said in ((1, "1 file"), (2, "2 files")):
        (tmp_path / f"{count}.txt").write_text("no data")
        assert found(tmp_path).warnings == (f"no delivery found under {tmp_path} ({said} looked at)",)
