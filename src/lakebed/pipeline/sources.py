"""Sources by name: `[source.NAME]` in `lakebed.toml` says what one is and where it goes, and `run` takes them all."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from lakebed.config import SourceSection
from lakebed.errors import ConfigError, LakebedError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.pipeline.progress import Observer
from lakebed.pipeline.reports import RunReport
from lakebed.pipeline.run import run
from lakebed.pipeline.settings import RunSettings, open_workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SourceFilters(TypedDict):
    """What says which deliveries of a source are wanted, and which table they go to."""

    table: str | None
    report: str | None
    payer: str | None
    period: str | None
    since: str | None
    until: str | None


@dataclass(frozen=True)
class SourcesReport:
    """What was done for each configured source: its report, or the error that kept it from having one."""

    reports: Mapping[str, RunReport]
    errors: Mapping[str, LakebedError]

    @property
    def failed(self) -> tuple[str, ...]:
        """The sources of which something failed."""
        return tuple(sorted({*self.errors, *(name for name, report in self.reports.items() if report.failed)}))

    def to_dict(self) -> dict[str, object]:
        told = {name: report.to_dict() for name, report in self.reports.items()}
        refused: dict[str, dict[str, object]] = {
            name: {"error": error.to_dict()} for name, error in self.errors.items()
        }
        return {"sources": {**told, **refused}}


def run_sources(
    names: Iterable[str] | None = None,
    *,
    target: str | os.PathLike[str] | None = None,
    table: str | None = None,
    report: str | None = None,
    payer: str | None = None,
    period: str | None = None,
    since: str | None = None,
    until: str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    spark: "SparkSession | None" = None,
    observer: Observer | None = None,
    reload: bool = False,
    replace: bool = False,
    accept_shrink: bool = False,
    **settings: Unpack[RunSettings],
) -> SourcesReport:
    """Runs the sources of `lakebed.toml` with these names, or all of them, one after the other.

    What is given here counts for each of them, over what its section says. A source that fails does not keep the
    others from being loaded.

    >>> report = lakebed.run_sources(since="-3m")  # doctest: +SKIP
    >>> report.failed  # doctest: +SKIP
    ()
    """
    configured = open_workspace(workdir, settings).settings.source
    given: dict[str, str | None] = {
        "table": table,
        "report": report,
        "payer": payer,
        "period": period,
        "since": since,
        "until": until,
    }
    reports: dict[str, RunReport] = {}
    errors: dict[str, LakebedError] = {}
    watch = observer or Observer()
    for name in _chosen(names, configured):
        section = configured[name]
        watch.source_begins(name)
        try:
            place = target if target is not None else section.target
            if place is None:
                raise ConfigError(f"[source.{name}] has no target", remedy="Write one there, or give --target.")
            filters = {key: value if value is not None else getattr(section, key) for key, value in given.items()}
            reports[name] = run(
                section.url,
                place,
                workdir=workdir,
                spark=spark,
                observer=watch,
                reload=reload,
                replace=replace,
                accept_shrink=accept_shrink,
                **cast("SourceFilters", filters),
                **_with_storage(section, settings),
            )
        except LakebedError as error:
            errors[name] = error
    return SourcesReport(reports, errors)


def _chosen(names: Iterable[str] | None, configured: Mapping[str, SourceSection]) -> list[str]:
    if not configured:
        raise ConfigError(
            "there is no source to run: none was named, and lakebed.toml has no [source.NAME]",
            remedy="Write `lakebed run SOURCE --target T`, or a section [source.NAME] with url and target.",
        )
    chosen = list(configured) if names is None else list(names)
    if unknown := [name for name in chosen if name not in configured]:
        raise ConfigError(
            f"lakebed.toml has no source {', '.join(unknown)}", remedy=f"Its sources are: {', '.join(configured)}."
        )
    return chosen


def _with_storage(section: SourceSection, settings: RunSettings) -> RunSettings:
    """The settings with the storage keys of the source, under those that were given."""
    keys = [one.name for one in fields(StorageSettings)]
    own = {key: getattr(section, key) for key in keys if getattr(section, key) is not None}
    given = {key: value for key, value in settings.items() if value is not None}
    return cast("RunSettings", {**settings, **own, **given})
