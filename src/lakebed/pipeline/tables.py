"""Which table each report of a source lands in. Several reports never share one by accident."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from lakebed.errors import ConfigError
from lakebed.model import Slice
from lakebed.schema.names import normalize_column_name
from lakebed.targets.address import Address


@dataclass(frozen=True, slots=True, order=True)
class ReportKey:
    """A report of a payer: the unit that has a table."""

    report: str
    payer: str

    @classmethod
    def of(cls, slice_: Slice) -> "ReportKey":
        return cls(slice_.report, slice_.payer)


def parse_target(target: str | os.PathLike[str]) -> Address:
    """The address that a user gave. A path object that names no kind of target is a Parquet folder."""
    return Address.parse(os.fspath(target), bare_path=not isinstance(target, str))


def choose_tables(address: Address, slices: Iterable[Slice], *, table: str | None = None) -> dict[ReportKey, Address]:
    """The table of each report.

    A named table, or a Parquet folder, takes one report: an hourly and a daily report of one payer in one table would
    double every sum. Reports of one name from several payers may share it, since every row knows its payer.
    """
    keys = sorted({ReportKey.of(slice_) for slice_ in slices})
    named = address.with_table(table) if table is not None else address
    reports = sorted({key.report for key in keys})
    if named.names_table:
        if len(reports) > 1:
            raise ConfigError(
                f"{named} is one table, and the source has {len(reports)} reports: {', '.join(reports)}",
                remedy="Load them one by one with --report NAME, each into a table of its own: "
                "two reports of one bill in one table would double every sum.",
            )
        return dict.fromkeys(keys, named)
    names: dict[str, str] = {}
    for report in reports:
        name = normalize_column_name(report)
        if name in names:
            raise ConfigError(
                f"the reports {names[name]!r} and {report!r} would both be called {name}",
                remedy="Load them one by one with --report NAME and --table NAME.",
            )
        names[name] = report
    return {key: address.with_table(normalize_column_name(key.report)) for key in keys}
