"""Counts of a merge: they balance, or they are an error."""

import pytest

from lakebed.datasets import DatasetMergeError, compute_merge_stats
from lakebed.merge_core.result import MergeResult


def test_stats_come_from_counted_rows() -> None:
    stats = compute_merge_stats(
        strategy="upsert", target_before=10, target_after=12, inserted_rows=2, updated_rows=3, deleted_rows=0
    )
    assert isinstance(stats, dict)
    assert stats == {"inserted": 2, "updated": 3, "deleted": 0, "total": 12}
    assert (stats.inserted, stats.updated, stats.deleted, stats.total) == (2, 3, 0, 12)


def test_counts_that_do_not_balance_are_an_error() -> None:
    with pytest.raises(DatasetMergeError, match="do not balance"):
        compute_merge_stats(
            strategy="upsert", target_before=10, target_after=11, inserted_rows=2, updated_rows=0, deleted_rows=0
        )
    with pytest.raises(DatasetMergeError, match="do not balance"):
        MergeResult(inserted=1, total=5, before=5)


def test_nothing_done_is_nothing_counted() -> None:
    said = MergeResult().to_dict()
    counts = ("inserted", "updated", "deleted", "total", "before", "files_rewritten", "files_kept", "source_rows")
    assert {said[name] for name in (*counts, "retries")} == {0}
    assert said["dry_run"] is False


def test_a_notebook_shows_the_counts_and_no_markup_of_a_column() -> None:
    shown = MergeResult(
        inserted=1200, updated=3, deleted=0, total=1300, before=100, added_columns=("<b>x</b>",), source_rows=1203
    )._repr_html_()
    assert "<th style='text-align:right'>inserted</th>" in shown
    assert "<td style='text-align:right'>1,200</td>" in shown
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "<b>x" not in shown
    assert "dry run" not in shown
