"""The one list of names with a meaning, and what suites make of it."""

from lakebed.engines.duckdb import sql
from lakebed.kernels import merge_shuffle
from lakebed.schema.special_names import DUCKDB_READER, SPECIAL_NAMES, UNREADABLE, means_something_to_duckdb_reader
from lakebed.testing.merge import MergeConformance
from lakebed.testing.merge_name_scenarios import NAMES, PARTITIONED_NAMES


def test_no_name_is_listed_twice() -> None:
    assert len({name.casefold() for name in SPECIAL_NAMES}) == len(SPECIAL_NAMES)
    assert UNREADABLE.isdisjoint(SPECIAL_NAMES)


def test_the_names_that_were_found_are_listed() -> None:
    assert {
        "filename",
        "file_row_number",
        "rowid",
        "target",
        "source",
        "rows",
        "paths",
        "_metadata",
        "_file",
        "_pos",
    } <= {*SPECIAL_NAMES}
    assert {merge_shuffle.FILE, merge_shuffle.ROW, merge_shuffle.GROUP} <= {*SPECIAL_NAMES}


def test_the_suite_draws_every_name_in_every_role() -> None:
    assert hasattr(MergeConformance, "test_special_names_are_ordinary")
    keys = {name for scenario in NAMES for name in scenario.keys}
    values = {name for scenario in NAMES for name in scenario.incoming.column_names}
    parts = {name for scenario in PARTITIONED_NAMES for name in scenario.partition_by}
    for name in SPECIAL_NAMES:
        assert name in keys
        assert name in values
        assert name in parts


def test_case_is_no_matter_to_duckdb() -> None:
    assert all(means_something_to_duckdb_reader(name.upper()) for name in DUCKDB_READER)
    assert not means_something_to_duckdb_reader("file name")


def test_names_of_our_own_are_drawn() -> None:
    """Whoever reads our source could otherwise give a column the name of a scratch column."""
    assert sql.FILE.startswith(sql.OWN)
    assert len(sql.OWN) > 32
