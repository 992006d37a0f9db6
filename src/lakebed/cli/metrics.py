"""`--metrics-file`: what a run did, as Prometheus reads it from a text file (node_exporter's textfile collector).

The file is replaced whole. The time of a report's last success outlives runs that fail: it is taken over from the file.
"""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile
from prometheus_client.parser import text_string_to_metric_families

from lakebed.errors import ConfigError, system_refusal
from lakebed.pipeline.reports import DeliveryReport, RunReport

LAST_SUCCESS = "lakebed_last_success_timestamp_seconds"
_SLICE = ("payer", "report", "period")


def write_metrics(path: Path, reports: Iterable[RunReport], *, succeeded: bool) -> None:
    """Writes the file for these reports; `succeeded` says whether all that was asked for was done."""
    deliveries = [delivery for report in reports for delivery in report.deliveries]
    registry = CollectorRegistry()
    Gauge("lakebed_run_succeeded", "Whether the last run did all that it was asked for.", registry=registry).set(
        int(succeeded)
    )
    ended = Gauge("lakebed_run_timestamp_seconds", "When the last run ended, in Unix time.", registry=registry)
    ended.set(time.time())
    _describe_deliveries(registry, deliveries)
    _keep_successes(registry, _read_successes(path), deliveries)
    try:
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise system_refusal(error, str(path)) from error


def _describe_deliveries(registry: CollectorRegistry, deliveries: list[DeliveryReport]) -> None:
    rows = Gauge("lakebed_rows", "Rows of the delivery in the table.", _SLICE, registry=registry)
    size = Gauge("lakebed_source_bytes", "Bytes of the delivery's source files.", _SLICE, registry=registry)
    rejected = Gauge("lakebed_rejected_rows", "Rows that were set aside in quarantine.", _SLICE, registry=registry)
    seconds = Gauge("lakebed_step_seconds", "Seconds of each step.", (*_SLICE, "step"), registry=registry)
    sums = Gauge(
        "lakebed_reconciled",
        "1 if the table adds up to the source files, 0 if not; absent where it was not checked.",
        _SLICE,
        registry=registry,
    )
    states = Gauge("lakebed_deliveries", "Deliveries by state.", (*_SLICE, "state"), registry=registry)
    for one in deliveries:
        slice_ = _slice(one)
        rows.labels(*slice_).set(one.rows)
        size.labels(*slice_).set(one.size_bytes)
        rejected.labels(*slice_).set(one.rejected_rows)
        for step, took in one.steps.items():
            seconds.labels(*slice_, step).set(took)
        if one.reconciled is not None:
            sums.labels(*slice_).set(int(one.reconciled))
    for (slice_, state), count in Counter((_slice(one), one.state) for one in deliveries).items():
        states.labels(*slice_, state).set(count)


def _keep_successes(
    registry: CollectorRegistry, known: dict[tuple[str, str, str], float], deliveries: list[DeliveryReport]
) -> None:
    last = Gauge(LAST_SUCCESS, "When the slice was last found or made right, in Unix time.", _SLICE, registry=registry)
    now = time.time()
    good = [_slice(one) for one in deliveries if one.state == "loaded" and one.reconciled is not False]
    for slice_, at in (known | dict.fromkeys(good, now)).items():
        last.labels(*slice_).set(at)


def _read_successes(path: Path) -> dict[tuple[str, str, str], float]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise system_refusal(error, str(path)) from error
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except ValueError as wrong:
        raise ConfigError(
            f"{path} is no file of metrics: {wrong}", remedy="Name another with --metrics-file, or remove it."
        ) from wrong
    return {
        (sample.labels["payer"], sample.labels["report"], sample.labels["period"]): sample.value
        for sample in samples
        if sample.name == LAST_SUCCESS and sample.labels.keys() == set(_SLICE)
    }


def _slice(one: DeliveryReport) -> tuple[str, str, str]:
    return one.payer, one.report, one.period
