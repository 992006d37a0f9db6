"""`lakebed load`: loads what `discover` and `stage` have left in the ledger, from the sources that it remembers."""

import dataclasses
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Unpack

from lakebed.model import Slice
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import RunReport
from lakebed.pipeline.run import run
from lakebed.pipeline.settings import RunSettings, open_workspace
from lakebed.source.filters import DiscoverFilters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def load(
    target: str | os.PathLike[str],
    *,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    replace: bool = False,
    accept_shrink: bool = False,
    **settings: Unpack[RunSettings],
) -> RunReport:
    """Loads the deliveries that the ledger knows from `discover` and `stage` and that are not loaded yet.

    Where none waits, nothing is done and the report is empty.

    >>> lakebed.stage("s3://bucket/prefix")  # doctest: +SKIP
    >>> lakebed.load("duckdb:costs.duckdb").rows  # doctest: +SKIP
    80000
    """
    filters = DiscoverFilters(report, payer, period, since, until)
    with open_workspace(workdir, settings).ledger_for_reading() as ledger:
        waiting: dict[str, list[Slice]] = {}
        for one in ledger.deliveries():
            if one.state not in ("loaded", "superseded") and filters.wants(one.slice):
                waiting.setdefault(one.source, []).append(one.slice)
    done = []
    for source, slices in waiting.items():
        wanted = _narrow(filters, slices)
        done.append(
            run(
                source,
                target,
                table=table,
                report=wanted.report,
                payer=wanted.payer,
                period=wanted.period,
                since=wanted.since,
                until=wanted.until,
                workdir=workdir,
                spark=spark,
                observer=observer,
                replace=replace,
                accept_shrink=accept_shrink,
                **settings,
            )
        )
    return RunReport(
        tables=tuple({one.address: one for report_ in done for one in report_.tables}.values()),
        deliveries=tuple(one for report_ in done for one in report_.deliveries),
        warnings=tuple(warning for report_ in done for warning in report_.warnings),
        seconds=sum(report_.seconds for report_ in done),
    )


def _narrow(filters: DiscoverFilters, slices: Collection[Slice]) -> DiscoverFilters:
    """The filters with the report, payer and period that all slices share.

    Of files without a manifest nothing else says what they are.
    """
    reports = {slice_.report for slice_ in slices}
    payers = {slice_.payer for slice_ in slices}
    periods = {slice_.period for slice_ in slices}
    return dataclasses.replace(
        filters,
        report=reports.pop() if len(reports) == 1 else filters.report,
        payer=payers.pop() if len(payers) == 1 else filters.payer,
        period=periods.pop() if len(periods) == 1 else filters.period,
    )
