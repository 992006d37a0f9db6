"""What breaks other loaders, through the whole pipeline: broken files, odd headers, moving targets."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

import lakebed
from lakebed.engines.spark.session import Session
from lakebed.model import Delivery
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reconcile import reconcile
from lakebed.pipeline.reports import DeliveryReport

pytestmark = pytest.mark.spark

TYPES = {
    "identity/LineItemId": "String",
    "lineItem/UnblendedCost": "BigDecimal",
    "lineItem/CurrencyCode": "String",
    "resourceTags/user:Environment": "String",
}
HEADER = tuple(TYPES)
Edit = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Bucket:
    """Deliveries written by hand, and the table that they are loaded into."""

    folder: Path
    spark: Session

    def deliver(
        self,
        *texts: str,
        period: str = "2026-10",
        assembly: str = "20261103T000000Z",
        types: Mapping[str, str] = TYPES,
        overwrite: bool = False,
        keys: Sequence[str] = (),
        edit: Edit = gzip.compress,
    ) -> None:
        """A delivery with one file for each text; data first and the manifest last, as AWS does it."""
        dates = f"{period.replace('-', '')}01-{period[:4]}{int(period[5:]) % 12 + 1:02d}01"
        parent = f"billing/bill/{dates}" + ("" if overwrite else f"/{assembly}")
        report_keys = [f"{parent}/bill-{number:05d}.csv.gz" for number in range(1, len(texts) + 1)]
        for key, text in zip(report_keys, texts, strict=True):
            path = self.folder / "bucket" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(edit(text.encode()))
        columns = [
            {"category": name.partition("/")[0], "name": name.partition("/")[2], "type": type_}
            for name, type_ in types.items()
        ]
        manifest = {
            "assemblyId": assembly,
            "account": "111122223333",
            "columns": columns,
            "compression": "GZIP",
            "contentType": "text/csv",
            "reportName": "bill",
            "billingPeriod": {"start": f"{period.replace('-', '')}01T000000.000Z"},
            "bucket": "bills",
            "reportKeys": [*report_keys, *keys],
        }
        (self.folder / "bucket" / parent / "bill-Manifest.json").write_text(json.dumps(manifest))

    def load(self, *, kind: str = "duckdb", observer: Observer | None = None, **settings: object) -> DeliveryReport:
        source, target = str(self.folder / "bucket"), f"{kind}:{self.folder / kind}"
        report = lakebed.run(source, target, spark=self.spark.spark, observer=observer, **settings)
        return report.deliveries[0]

    def rows(self, columns: str = "*", *, kind: str = "duckdb") -> list[tuple[object, ...]]:
        place = self.folder / kind
        with duckdb.connect(place if kind == "duckdb" else ":memory:", read_only=kind == "duckdb") as connection:
            source = "bill" if kind == "duckdb" else f"read_parquet('{place}/**/*.parquet', union_by_name = true)"
            return connection.execute(f"SELECT {columns} FROM {source} ORDER BY ALL").fetchall()

    def columns(self) -> dict[str, tuple[str, str]]:
        """Original -> name and type."""
        with duckdb.connect(self.folder / "duckdb", read_only=True) as connection:
            return {
                original: (name, type_)
                for name, type_, original in connection.execute(
                    "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = 'bill'"
                ).fetchall()
            }


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark_local: Session) -> Bucket:
    monkeypatch.chdir(tmp_path)
    return Bucket(tmp_path, spark_local)


def lines(*rows: str, header: Sequence[str] = HEADER, end: str = "\n") -> str:
    return "".join(f"{line}{end}" for line in (",".join(header), *rows))


def refused(report: DeliveryReport) -> str:
    assert report.state == "failed"
    assert report.error is not None
    return report.error


def test_a_gzip_that_ends_too_early_is_refused_by_name(bucket: Bucket) -> None:
    bucket.deliver(lines("a,1,USD,prod"), period="2026-09", assembly="20261001T000000Z")
    bucket.load()
    many = lines(*(f"{number},{number}.5,USD,{hash(number):x}" for number in range(5000)))
    bucket.deliver(lines("a,1,USD,x"), many, edit=lambda data: gzip.compress(data)[: -1 if len(data) < 999 else -2000])
    said = refused(bucket.load())
    assert "bill-0000" in said
    assert "Copy the file again" in said or "damaged" in said
    assert bucket.rows("lakebed_period, line_item_unblended_cost") == [("2026-09", Decimal(1))]


def test_files_of_one_delivery_may_differ_in_their_headers(bucket: Bucket) -> None:
    more = ("lineItem/UnblendedCost", "identity/LineItemId", "resourceTags/user:Team")
    listed = {name: type_ for name, type_ in TYPES.items() if name in more}
    bucket.deliver(lines("a,1.5,USD,prod"), lines("2.5,b,blue", header=more), types=listed)
    report = bucket.load()
    assert (report.state, report.rows, report.reconciled) == ("loaded", 2, True)
    assert "2 columns are missing" in " ".join(report.warnings)
    assert "--strict refuses" in refused(bucket.load(kind="parquet", strict=True))
    chosen = "identity_line_item_id, line_item_unblended_cost, resource_tags_user_environment, resource_tags_user_team"
    assert bucket.rows(chosen) == [("a", Decimal("1.5"), "prod", None), ("b", Decimal("2.5"), None, "blue")]


@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
def test_an_empty_month_is_loaded_with_no_rows_and_adds_up(bucket: Bucket, kind: str) -> None:
    bucket.deliver(lines())
    report = bucket.load(kind=kind)
    assert (report.state, report.rows, report.reconciled, report.skipped) == ("loaded", 0, True, False)
    assert reconcile(f"{kind}:{bucket.folder / kind}").holds
    assert bucket.load(kind=kind).skipped
    # A month that turns out to be empty after all takes the place of the rows that it had.
    bucket.deliver(lines("a,1,USD,prod"), assembly="20261104T000000Z")
    assert bucket.load(kind=kind).rows == 1
    bucket.deliver(lines(), assembly="20261105T000000Z")
    emptied = bucket.load(kind=kind, accept_shrink=True)
    assert (emptied.state, emptied.rows, emptied.reconciled) == ("loaded", 0, True)
    assert bucket.load(kind=kind).skipped
    assert bucket.rows("lakebed_delivery", kind=kind) == []


def test_marks_line_ends_and_duplicates_of_the_real_world(bucket: Bucket) -> None:
    tag = "x" * 250
    header = (*HEADER, f"resourceTags/user:{tag}", "product/memory", "product/memory")
    types = {**TYPES, f"resourceTags/user:{tag}": "String"}
    text = "\ufeff" + lines(f'a,4.0E-7,USD,"two\r\nlines",{tag},8 GiB,16 GiB', header=header, end="\r\n")
    bucket.deliver(text, types=types)
    report = bucket.load()
    assert (report.state, report.rows, report.reconciled) == ("loaded", 1, True), report.error
    columns = bucket.columns()
    long = columns[f"resourceTags/user:{tag}"][0]
    assert long == f"resource_tags_user_{tag}"
    assert columns["product/memory#2"] == ("product_memory_1", "VARCHAR")
    chosen = "identity_line_item_id, line_item_unblended_cost, resource_tags_user_environment, product_memory"
    assert bucket.rows(f"{chosen}, product_memory_1, {long}") == [
        ("a", Decimal("0.0000004"), "two\r\nlines", "8 GiB", "16 GiB", tag)
    ]


@pytest.mark.parametrize("key", ["../../etc/passwd.csv.gz", "billing/../../secret.csv.gz", "s3://other/bill-1.csv.gz"])
def test_a_manifest_that_points_outside_its_bucket_is_refused(bucket: Bucket, key: str) -> None:
    bucket.deliver(lines("a,1,USD,prod"), keys=[key])
    with pytest.raises(lakebed.LakebedError, match=r"bill-Manifest\.json(.|\n)*outside"):
        bucket.load()
    assert not (bucket.folder / "duckdb").exists()


class Overwriting(Observer):
    """Delivers again while the old delivery is being read, so many times."""

    def __init__(self, deliver: Callable[[int], None], times: int, *, while_copying: bool) -> None:
        self._deliver = deliver
        self._times = times
        self._while_copying = while_copying
        self.done = 0

    def _overwrite(self) -> None:
        if self.done < self._times:
            self.done += 1
            self._deliver(self.done)

    def copied(self, size_bytes: int) -> None:
        if self._while_copying:
            self._overwrite()

    def loading(self, delivery: Delivery) -> None:
        if not self._while_copying:
            self._overwrite()


@pytest.mark.parametrize("no_stage", [False, True], ids=["while it is copied", "while it is read in place"])
def test_a_delivery_written_over_meanwhile_is_read_again(bucket: Bucket, no_stage: bool) -> None:
    def deliver(number: int) -> None:
        text = lines(f"a,{number}.25,USD,prod", *(f"b,0,USD,{number}" for _ in range(number)))
        bucket.deliver(text, overwrite=True, assembly=f"2026110{number + 1}T000000Z")

    deliver(0)
    once = Overwriting(deliver, 1, while_copying=not no_stage)
    report = bucket.load(observer=once, no_stage=no_stage)
    assert once.done == 1
    assert (report.state, report.delivery, report.reconciled) == ("loaded", "20261102T000000Z", True), report.error
    assert bucket.rows("max(line_item_unblended_cost), count(*)") == [(Decimal("1.25"), 2)]
    # One that never comes to rest is given up, and the table keeps what it has.
    deliver(2)
    forever = Overwriting(lambda number: deliver(2 + number), 9, while_copying=not no_stage)
    said = refused(bucket.load(observer=forever, no_stage=no_stage))
    assert "written over" in said
    assert bucket.rows("max(line_item_unblended_cost), count(*)") == [(Decimal("1.25"), 2)]


def test_athena_s_names_are_one_setting_away(bucket: Bucket) -> None:
    header, types = (*HEADER, "reservation/ReservationARN"), {**TYPES, "reservation/ReservationARN": "String"}
    bucket.deliver(lines("a,1,USD,prod,arn", header=header), types=types)
    assert bucket.load(naming="athena").state == "loaded"
    assert bucket.columns()["reservation/ReservationARN"][0] == "reservation_reservation_a_r_n"


def test_a_column_whose_type_no_longer_fits_is_refused_or_kept_beside(bucket: Bucket) -> None:
    original = "product/launched"
    header = (*HEADER, original)
    bucket.deliver(
        lines("a,1,USD,prod,2.5", header=header),
        types={**TYPES, original: "BigDecimal"},
        period="2026-09",
        assembly="20261001T000000Z",
    )
    bucket.load()
    bucket.deliver(lines("a,1,USD,prod,2026-10-01T00:00:00Z", header=header), types={**TYPES, original: "DateTime"})
    said = refused(bucket.load())
    assert "product_launched" in said
    report = bucket.load(on_conflict="variant")
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert len(report.added_columns) == 1
    [variant] = report.added_columns
    assert variant.startswith("product_launched")
    found = bucket.rows(f"lakebed_period, product_launched, {variant} IS NULL")
    assert found == [("2026-09", Decimal("2.5"), True), ("2026-10", None, False)]


def test_reading_in_place_copies_nothing(bucket: Bucket) -> None:
    bucket.deliver(lines("a,1,USD,prod"))
    assert bucket.load(no_stage=True).rows == 1
    assert not (bucket.folder / ".lakebed" / "staging").exists()


def test_staged_copies_go_when_the_user_says_so(bucket: Bucket) -> None:
    bucket.deliver(lines("a,1,USD,prod"))
    bucket.load()
    staging = bucket.folder / ".lakebed" / "staging"
    assert len(list(staging.rglob("*.csv.gz"))) == 1
    bucket.deliver(lines("a,2,USD,prod"), assembly="20261104T000000Z")
    bucket.load(retention_hours=0)
    assert list(staging.rglob("*.csv.gz")) == []


def test_a_file_that_was_corrected_is_copied_and_read_anew(bucket: Bucket) -> None:
    bucket.deliver(lines("a,one,USD,prod"))
    assert "'one'" in refused(bucket.load())
    bucket.deliver(lines("a,1.0,USD,prod"))
    report = bucket.load()
    assert (report.state, report.reconciled) == ("loaded", True), report.error
    assert bucket.rows("line_item_unblended_cost") == [(Decimal(1),)]


def test_a_delivery_of_which_no_file_is_there_is_refused(bucket: Bucket) -> None:
    bucket.deliver(lines("a,1,USD,prod"))
    [data] = (bucket.folder / "bucket").rglob("*.csv.gz")
    data.unlink()
    assert "none of its 1 files is there" in refused(bucket.load())
    assert not (bucket.folder / "duckdb").exists()
