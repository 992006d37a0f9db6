"""What is known of billing deliveries: how their folders and files are called, and what those names say.

CUR, a folder each time   prefix/report/20260901-20261001/<assemblyId>/report-00001.csv.gz, the manifest there and again
                          in the date folder, where each delivery writes over it
CUR, overwritten          the same without the assembly folder
CUR in Parquet            prefix/report/report/year=2026/month=9/*.parquet, and cost_and_usage_data_status
CUR 2.0 and FOCUS         prefix/export/data/BILLING_PERIOD=2026-09/[<time>-<executionId>/]export-00001.csv.gz, and
                          prefix/export/metadata/BILLING_PERIOD=2026-09/[...]/export-Manifest.json
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lakebed.model import Compression, Content

MANIFEST_NAME = re.compile(r"(?:^|(?P<report>.*?)[-_.])manifest\.json$", re.IGNORECASE)
STATUS_FOLDER = "cost_and_usage_data_status"
UNKNOWN_PAYER = "unknown"

_PERIOD = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])")
_DATE_FOLDER = re.compile(r"(\d{4})(0[1-9]|1[0-2])\d{2}-\d{8}")
_PERIOD_FOLDER = re.compile(r"billing_period=(\d{4}-(?:0[1-9]|1[0-2]))", re.IGNORECASE)
_YEAR_FOLDER = re.compile(r"year=(\d{4})", re.IGNORECASE)
_MONTH_FOLDER = re.compile(r"month=(\d{1,2})", re.IGNORECASE)
# 20250307T053621Z is an assemblyId, 20180501T000000.000Z a billing period's, 2026-10-03T05:36:21.000Z a run's folder
_MOMENT = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})T(\d{2}):?(\d{2}):?(\d{2})(?:\.\d+)?(?:Z|\+00:?00)?")
_RUN_FOLDER = re.compile(rf"({_MOMENT.pattern})-(?P<run>.+)")

# Longest first: `.csv.gz` is not a file of the kind `.gz`.
_ENDINGS: tuple[tuple[str, Content, Compression], ...] = (
    (".csv.gz", "csv", "gzip"),
    (".csv.gzip", "csv", "gzip"),
    (".csv.zip", "csv", "zip"),
    (".csv", "csv", "none"),
    (".parquet", "parquet", "none"),
    (".gz", "csv", "gzip"),
    (".zip", "csv", "zip"),
)
PAYER_COLUMNS = ("bill/PayerAccountId", "bill_payer_account_id", "BillingAccountId")
FOCUS_COLUMNS = frozenset({"BilledCost", "ChargePeriodStart", "BillingAccountId"})


@dataclass(frozen=True, slots=True)
class FileForm:
    """What a data file is by its name."""

    content: Content
    compression: Compression


def file_form(name: str) -> FileForm | None:
    """What a file is by its name's ending; None for what is no data file."""
    lowered = name.lower()
    for ending, content, compression in _ENDINGS:
        if lowered.endswith(ending):
            return FileForm(content, compression)
    return None


def is_period(text: str) -> bool:
    """`2026-10` and nothing else."""
    return _PERIOD.fullmatch(text) is not None


def parse_moment(text: str) -> datetime | None:
    """The time that an id or a field spells out, in UTC; None where it is not a time, as with a UUID."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def run_moment(segments: Sequence[str]) -> datetime | None:
    """The time in the folder of an export's run, `2026-10-03T05:36:21.000Z-<executionId>`."""
    for segment in segments:
        if found := _RUN_FOLDER.fullmatch(segment):
            return parse_moment(found[1])
    return None


def folder_period(segments: Sequence[str]) -> str | None:
    """The billing period that folders name, whichever layout they are of. A prefix may look dated: the last counts."""
    period = year = None
    for segment in segments:
        if found := _DATE_FOLDER.fullmatch(segment):
            period = f"{found[1]}-{found[2]}"
        elif found := _PERIOD_FOLDER.fullmatch(segment):
            period = found[1]
        elif found := _YEAR_FOLDER.fullmatch(segment):
            year = found[1]
        elif (found := _MONTH_FOLDER.fullmatch(segment)) and year and 1 <= int(found[1]) <= 12:
            period = f"{year}-{int(found[1]):02d}"
    return period


def is_dated(segment: str) -> bool:
    """A folder that stands for one period: two files that differ in it are never the same file."""
    patterns = (_DATE_FOLDER, _PERIOD_FOLDER, _YEAR_FOLDER, _MONTH_FOLDER)
    return any(pattern.fullmatch(segment) for pattern in patterns)


def report_by_folder(segments: Sequence[str]) -> str | None:
    """The report's name where only data files are there: what its dated folders lie in."""
    for index, segment in enumerate(segments):
        if is_dated(segment):
            above = [name for name in segments[:index] if name.lower() not in ("data", "metadata")]
            return above[-1] if above else None
    return None
