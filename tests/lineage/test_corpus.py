"""Every statement in sqlglot's own tests and fixtures: no exception, no endless one, no form that is not known."""

from pathlib import Path

import pytest
from tests.support.sqlglot_corpus import fetch, statements

import lakebed

pytestmark = pytest.mark.full


def test_no_statement_of_the_corpus_fails(tmp_path: Path) -> None:
    try:
        source = fetch(tmp_path)
    except OSError as error:
        pytest.skip(f"the source distribution of sqlglot cannot be had: {error}")
    analysed, failed = 0, []
    for dialect, sql in statements(source):
        analysed += 1
        result = lakebed.analyze(sql, dialect=dialect)
        failed += [
            f"{dialect}: {sql}\n    {issue.code}: {issue.message}"
            for issue in result.issues
            if issue.code == "TOO_COMPLEX" or "the form of this statement" in issue.message
        ]
    assert analysed > 15_000
    assert not failed, f"{len(failed)} of {analysed}:\n" + "\n".join(failed[:20])
