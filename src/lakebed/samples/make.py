"""Makes deliveries as AWS lays them out on S3: data files, manifests, and the truth about them."""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import ConfigError
from lakebed.model import Totals
from lakebed.samples.charges import ACCOUNTS, charges
from lakebed.samples.closing import closings
from lakebed.samples.columns import SampleColumn, month_columns
from lakebed.samples.files import SUFFIXES, finished_names, write_file
from lakebed.samples.kinds import SampleFormat, SampleKind, SampleLayout, cells, tags
from lakebed.samples.rows import Cell, SampleTally, Sheet, headers
from lakebed.samples.truth import DeliveryTruth, SampleTruth, bill_truth

SampleIds: TypeAlias = Literal["time", "uuid"]

LAST_MONTH = (2026, 10)
PREFIX = "billing"
# Rows of a file from which on a sample is a whole bill: commitments, their fees, discounts and tax hang together in it.
SMALLEST_WHOLE = 150


@dataclass(frozen=True)
class SampleSpec:
    """What to make. `rows` is the rows of each delivery; the month before the last is delivered twice if `restate`."""

    months: int = 4
    rows: int = 20_000
    columns: int = 250
    seed: int = 1
    kind: SampleKind = "cur"
    format: SampleFormat = "gzip"
    layout: SampleLayout = "new"
    ids: SampleIds = "time"
    restate: bool = True
    typed: bool = True
    files: int = 4
    report: str = "sample-report"
    payer: str = ACCOUNTS[0].id
    bucket: str = "sample-billing"
    prefix: str = PREFIX


@dataclass(frozen=True)
class _Delivery:
    """One delivery to be made: which month, when, and what its id is."""

    month: int
    start: datetime
    end: datetime
    created: datetime
    id: str
    restated: bool
    current: bool


def sample(
    folder: str | os.PathLike[str],
    *,
    months: int = 4,
    rows: int = 20_000,
    columns: int = 250,
    seed: int = 1,
    files: int = 4,
    report: str = "sample-report",
    kind: SampleKind = "cur",
    format: SampleFormat = "gzip",
    layout: SampleLayout = "new",
    restate: bool = True,
) -> SampleTruth:
    """Writes believable billing deliveries under `folder`, which stands for the bucket, and the truth about them.

    There are `rows` rows in each delivery, in `files` files. The last month is October 2026; with `restate` the one
    before it is delivered twice. The same arguments give the same bytes. With 150 rows or more in each file it is a
    whole bill: covered usage and its negation cancel, the fees of commitments are what was used and what was not, and
    net costs of an invoice are its costs. CUR and CUR 2.0 of the same arguments agree row for row.

    >>> truth = lakebed.sample("bills", months=2, rows=10, restate=False)
    >>> [(one.period, one.totals.rows) for one in truth.deliveries]
    [('2026-09', 10), ('2026-10', 10)]
    """
    return make_sample(
        folder,
        spec=SampleSpec(
            months=months,
            rows=rows,
            columns=columns,
            seed=seed,
            files=files,
            report=report,
            kind=kind,
            format=format,
            layout=layout,
            restate=restate,
        ),
    )


def make_sample(
    folder: str | os.PathLike[str],
    *,
    months: int | None = None,
    rows: int | None = None,
    columns: int | None = None,
    seed: int | None = None,
    spec: SampleSpec | None = None,
) -> SampleTruth:
    """As `sample`, with every choice that there is: `spec` holds them, and the four named here go first."""
    chosen = spec or SampleSpec()
    chosen = replace(
        chosen,
        months=chosen.months if months is None else months,
        rows=chosen.rows if rows is None else rows,
        columns=chosen.columns if columns is None else columns,
        seed=chosen.seed if seed is None else seed,
    )
    _check(chosen)
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    planned = _plan(chosen)
    made = [_make(root, chosen, delivery) for delivery in planned]
    if not _keeps_old(chosen):
        made = [truth for truth in made if truth.current]
    truth = SampleTruth(root, chosen.kind, chosen.seed, tuple(made))
    truth.write()
    return truth


def _check(spec: SampleSpec) -> None:
    if spec.months < 1 or spec.rows < 0 or spec.files < 1:
        raise ConfigError("a sample has at least one month, no negative rows, and at least one file a delivery")
    if spec.months > 120:
        raise ConfigError(f"{spec.months} months are more than a sample can tell apart", remedy="Ask for 120 or fewer.")
    if spec.kind != "cur" and spec.format == "zip":
        raise ConfigError("Data Exports are never ZIP files", remedy="Choose gzip or parquet.")


def _keeps_old(spec: SampleSpec) -> bool:
    """Whether an older delivery of a month is still there; CUR in Parquet is always overwritten."""
    return spec.layout == "new" and not (spec.kind == "cur" and spec.format == "parquet")


def _plan(spec: SampleSpec) -> list[_Delivery]:
    planned: list[_Delivery] = []
    restated = max(0, spec.months - 2) if spec.restate else -1
    for month in range(spec.months):
        start = _month(LAST_MONTH[0], LAST_MONTH[1] - (spec.months - 1) + month)
        end = _month(start.year, start.month + 1)
        for turn in range(2 if month == restated else 1):
            # The first delivery after the month's end; a restatement brings what the invoice settled.
            created = end + timedelta(days=2 + 5 * turn, hours=5, minutes=36, seconds=21 + month)
            planned.append(
                _Delivery(
                    month=month,
                    start=start,
                    end=end,
                    created=created,
                    id=_delivery_id(spec, created),
                    restated=turn == 1,
                    current=turn == 1 or month != restated,
                )
            )
    return planned


def _month(year: int, month: int) -> datetime:
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=UTC)


def _delivery_id(spec: SampleSpec, created: datetime) -> str:
    if spec.ids == "time" and spec.kind == "cur":
        return created.strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(f"{spec.seed}/{spec.report}/{created.isoformat()}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _make(root: Path, spec: SampleSpec, delivery: _Delivery) -> DeliveryTruth:
    columns = month_columns(spec.columns, delivery.month, restated=delivery.restated)
    sheet = _sheet(spec, delivery, columns)
    tally = SampleTally.of(sheet)
    keys = [_file_key(spec, delivery, number) for number in range(1, spec.files + 1)]
    for number, key in enumerate(keys):
        share = spec.rows // spec.files + (1 if number < spec.rows % spec.files else 0)
        rng = Random(f"{spec.seed}/{spec.report}/{spec.payer}/{delivery.start:%Y-%m}/{number}")
        write_file(root / key, spec.format, sheet, rng, share, tally, last=number == spec.files - 1)
    manifests = _write_manifests(root, spec, delivery, columns, keys)
    if spec.kind == "cur" and spec.format == "parquet":
        status = root / _report_folder(spec) / spec.report / "cost_and_usage_data_status"
        status.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"status": ["READY"]}), status / "cost_and_usage_data_status.parquet")
    # The time of a file is what a mirror keeps of its delivery time, and what orders deliveries whose id is a UUID.
    for path in [root / key for key in (*keys, *manifests)]:
        os.utime(path, (delivery.created.timestamp(), delivery.created.timestamp()))
    names = finished_names(sheet) if spec.format == "parquet" else {name: name for name in headers(sheet)}
    return DeliveryTruth(
        payer=spec.payer,
        report=spec.report,
        period=delivery.start.strftime("%Y-%m"),
        delivery=delivery.id,
        current=delivery.current,
        manifest=manifests[0],
        files=tuple(keys),
        columns=tuple(names.values()),
        totals=_renamed(tally.totals(sheet), names),
        bill=bill_truth(sheet, tally),
    )


def _renamed(totals: Totals, names: Mapping[str, str]) -> Totals:
    return Totals(
        totals.rows,
        {names[name]: amount for name, amount in totals.sums.items()},
        {code: {names[name]: part for name, part in sums.items()} for code, sums in totals.by_currency.items()},
    )


def _sheet(spec: SampleSpec, delivery: _Delivery, columns: tuple[SampleColumn, ...]) -> Sheet:
    growth = (1 + 0.07 * delivery.month) * (1.02 if delivery.restated else 1.0)
    # What is charged, and under which SKU, is the same in every month.
    rng = Random(f"{spec.seed}/{spec.report}/{spec.payer}")
    period = delivery.start.strftime("%Y-%m")
    # What closes a month has its place at the end of the last file.
    whole = spec.rows // spec.files >= SMALLEST_WHOLE
    lines = charges(rng, credits="1.5" if delivery.restated else "1", period=period, whole=whole)
    return Sheet(
        cells=cells(spec.kind, columns),
        tags=tags(columns),
        charges=lines,
        constants={
            "bill/PayerAccountId": spec.payer,
            "bill/BillingPeriodStartDate": delivery.start.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "bill/BillingPeriodEndDate": delivery.end.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "payer/Name": ACCOUNTS[0].name,
        },
        month=delivery.start,
        next_month=delivery.end,
        growth=growth,
        closings=closings(lines, period, first_month=delivery.month == 0) if whole else (),
    )


def _report_folder(spec: SampleSpec) -> str:
    return f"{spec.prefix}/{spec.report}" if spec.prefix else spec.report


def _date_folder(spec: SampleSpec, delivery: _Delivery) -> str:
    return f"{_report_folder(spec)}/{delivery.start:%Y%m%d}-{delivery.end:%Y%m%d}"


def _run_folder(delivery: _Delivery) -> str:
    """The folder of one execution of a data export."""
    return f"{delivery.created:%Y-%m-%dT%H:%M:%S}.000Z-{delivery.id}"


def _file_key(spec: SampleSpec, delivery: _Delivery, number: int) -> str:
    name = f"{spec.report}-{number:05d}.{SUFFIXES[spec.format]}"
    if spec.kind != "cur":
        period = f"{_report_folder(spec)}/data/BILLING_PERIOD={delivery.start:%Y-%m}"
        return f"{period}/{_run_folder(delivery)}/{name}" if spec.layout == "new" else f"{period}/{name}"
    if spec.format == "parquet":
        folder = f"{_report_folder(spec)}/{spec.report}/year={delivery.start.year}/month={delivery.start.month}"
        return f"{folder}/{name}"
    folder = _date_folder(spec, delivery)
    return f"{folder}/{delivery.id}/{name}" if spec.layout == "new" else f"{folder}/{name}"


def _write_manifests(
    root: Path, spec: SampleSpec, delivery: _Delivery, columns: tuple[SampleColumn, ...], keys: list[str]
) -> list[str]:
    name = f"{spec.report}-Manifest.json"
    if spec.kind == "cur":
        content = _cur_manifest(spec, delivery, columns, keys)
        folder, inner = _date_folder(spec, delivery), delivery.id
    else:
        content = _export_manifest(spec, delivery, columns, keys)
        folder = f"{_report_folder(spec)}/metadata/BILLING_PERIOD={delivery.start:%Y-%m}"
        inner = _run_folder(delivery)
    # The copy in the delivery's own folder stays; the one above it is overwritten by the next delivery.
    written = [f"{folder}/{inner}/{name}"] if _keeps_old(spec) else []
    written.append(f"{folder}/{name}")
    for key in written:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return written


def _cur_manifest(
    spec: SampleSpec, delivery: _Delivery, columns: tuple[SampleColumn, ...], keys: list[str]
) -> dict[str, object]:
    listed = [{"category": each.category, "name": each.name, "type": each.type} for each in columns]
    if not spec.typed:
        listed = [{"category": each.category, "name": each.name} for each in columns]
    parquet = spec.format == "parquet"
    return {
        "assemblyId": delivery.id,
        "account": spec.payer,
        "columns": listed,
        "charset": "UTF-8",
        "compression": {"gzip": "GZIP", "zip": "ZIP", "csv": "NONE", "parquet": "Parquet"}[spec.format],
        "contentType": "Parquet" if parquet else "text/csv",
        "reportId": hashlib.sha256(spec.report.encode()).hexdigest(),
        "reportName": spec.report,
        "billingPeriod": {
            "start": delivery.start.strftime("%Y%m%dT%H%M%S.000Z"),
            "end": delivery.end.strftime("%Y%m%dT%H%M%S.000Z"),
        },
        "bucket": spec.bucket,
        "reportKeys": keys,
        "additionalArtifactKeys": [],
    }


def _export_manifest(
    spec: SampleSpec, delivery: _Delivery, columns: tuple[SampleColumn, ...], keys: list[str]
) -> dict[str, object]:
    return {
        "executionId": delivery.id,
        "exportArn": f"arn:aws:bcm-data-exports:us-east-1:{spec.payer}:export/{spec.report}",
        "exportName": spec.report,
        "accountId": spec.payer,
        "columns": [_export_column(cell) for cell in cells(spec.kind, columns)] if spec.typed else [],
        "compression": "PARQUET" if spec.format == "parquet" else "GZIP",
        "contentType": "PARQUET" if spec.format == "parquet" else "TEXT_OR_CSV",
        "createdAt": delivery.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "dataFiles": [f"s3://{spec.bucket}/{key}" for key in keys],
    }


def _export_column(cell: Cell) -> dict[str, str]:
    if cell.is_decimal:
        return {"name": cell.header, "type": "OptionalBigDecimal"}
    if cell.key == "tags" or cell.key.startswith("map:"):
        return {"name": cell.header, "type": "map"}
    return {"name": cell.header, "type": "DateTime" if cell.key.endswith("Date") else "OptionalString"}
