"""Options that several commands share, each declared once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from lakebed.config import OnConflict, Settings, SparkSection
from lakebed.engines.protocols.load import OnBadValue
from lakebed.errors import ConfigError
from lakebed.schema.names import Naming

Word = TypeVar("Word", bound=str)


def _help(section: type[Settings] | type[SparkSection], name: str) -> str:
    """The help text of a setting: the same on the command line and in the docs."""
    return section.model_fields[name].description or ""


Source = Annotated[
    str, typer.Argument(help="A folder, a manifest or a data file: a local path, s3://, gs:// or az://.")
]
SourceOrName = Annotated[
    str | None,
    typer.Argument(
        help="A folder, a manifest or a data file: a local path, s3://, gs:// or az://; or the name of a source of "
        "lakebed.toml, which wins over a path. Without it: all sources of lakebed.toml."
    ),
]
TargetOfRun = Annotated[
    str | None,
    typer.Option(
        "--target",
        help="duckdb:FILE[#TABLE], iceberg:[CATALOG:]NAMESPACE[.TABLE] or parquet:FOLDER. A source of lakebed.toml may "
        "have its own.",
    ),
]
MetricsFile = Annotated[
    Path | None,
    typer.Option(
        "--metrics-file", help="Write what the run did to this file, as Prometheus reads it: rows, seconds, sums."
    ),
]
Views = Annotated[
    bool, typer.Option("--views", help="Create or renew the views TABLE_athena and TABLE_cur2; see `lakebed views`.")
]
Target = Annotated[
    str, typer.Option(help="duckdb:FILE[#TABLE], iceberg:[CATALOG:]NAMESPACE[.TABLE] or parquet:FOLDER.")
]
Table = Annotated[str | None, typer.Option(help="The table's name. Without it a table is named after its report.")]
Report = Annotated[str | None, typer.Option(help="Only this report; for files without a manifest, its name.")]
Payer = Annotated[str | None, typer.Option(help="Only this payer account.")]
Period = Annotated[str | None, typer.Option(help="Only this month, as in 2026-10, or -1m for the last one.")]
Since = Annotated[
    str | None, typer.Option(help="Only this month and later ones, as in 2026-01, or -3m for three months ago.")
]
Until = Annotated[str | None, typer.Option(help="Only this month and earlier ones, as in 2026-06 or -1m.")]
Decimals = Annotated[str | None, typer.Option(help=_help(Settings, "decimals"))]
NamingRule = Annotated[Naming | None, typer.Option(help=_help(Settings, "naming"))]
BadValue = Annotated[OnBadValue | None, typer.Option(help=_help(Settings, "on_bad_value"))]
Conflict = Annotated[OnConflict | None, typer.Option(help=_help(Settings, "on_conflict"))]
AllowMissing = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help=f"{_help(Settings, 'allow_missing')} May be repeated.")
]
Reload = Annotated[bool, typer.Option("--reload", help="Load again what is loaded already, whatever the ledger says.")]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Take files without a manifest in place of others of the same report and period."),
]
AcceptShrink = Annotated[
    bool,
    typer.Option("--accept-shrink", help="Take a closed month that has lost much of its rows or of its cost."),
]
Retain = Annotated[str | None, typer.Option(help=_help(Settings, "retain"))]
NoStage = Annotated[bool | None, typer.Option("--no-stage", help=_help(Settings, "no_stage"))]
Strict = Annotated[bool | None, typer.Option("--strict", help=_help(Settings, "strict"))]
Master = Annotated[str | None, typer.Option(help=_help(SparkSection, "master"))]
Remote = Annotated[str | None, typer.Option(help=_help(SparkSection, "remote"))]


def split_names(text: str | None) -> list[str]:
    """The names of an option that takes several, with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def one_of(option: str, given: str, known: Sequence[Word]) -> Word:
    """The word of an option that takes a few, or ConfigError with all of them."""
    for word in known:
        if word == given:
            return word
    raise ConfigError(f"{option} {given!r} is not known", remedy=f"Choose one of {', '.join(known)}.")
