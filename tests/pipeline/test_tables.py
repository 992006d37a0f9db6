"""Several reports never share a table by accident."""

import pytest

from lakebed.errors import ConfigError
from lakebed.model import Slice
from lakebed.pipeline.tables import ReportKey, choose_tables
from lakebed.targets.address import Address

HOURLY, DAILY = Slice("1", "hourly-report", "2026-09"), Slice("1", "daily-report", "2026-09")
OTHER_PAYER = Slice("2", "hourly-report", "2026-09")
DUCKDB = Address.parse("duckdb:costs.duckdb")


def test_each_report_has_a_table_of_its_name() -> None:
    chosen = choose_tables(DUCKDB, [HOURLY, DAILY])
    assert chosen[ReportKey.of(HOURLY)].table == "hourly_report"
    assert chosen[ReportKey.of(DAILY)].table == "daily_report"


@pytest.mark.parametrize("target", ["duckdb:costs.duckdb#all", "parquet:out", "iceberg:ns.all"])
def test_one_table_for_two_reports_is_refused_with_their_list_and_the_remedy(target: str) -> None:
    with pytest.raises(ConfigError, match=r"daily-report, hourly-report(.|\n)*--report"):
        choose_tables(Address.parse(target), [HOURLY, DAILY])


def test_a_named_table_for_two_reports_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="2 reports"):
        choose_tables(DUCKDB, [HOURLY, DAILY], table="all")


def test_payers_of_one_report_may_share_a_table_because_rows_know_their_payer() -> None:
    assert len(set(choose_tables(DUCKDB, [HOURLY, OTHER_PAYER], table="bills").values())) == 1


def test_reports_whose_names_become_one_are_refused() -> None:
    with pytest.raises(ConfigError, match="would both be called hourly_report"):
        choose_tables(DUCKDB, [HOURLY, Slice("1", "hourly.report", "2026-09")])
