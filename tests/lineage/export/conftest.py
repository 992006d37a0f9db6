"""One script with every kind of edge and issue, for the tests of all formats."""

import pytest

import lakebed
from lakebed.lineage import AnalyzeResult, Script
from lakebed.lineage.export.script_texts import ScriptTexts

SQL = '''CREATE TABLE raw (id INT, cost INT, kind STRING);
CREATE VIEW clean AS SELECT id, cost * 2 AS cost FROM raw WHERE kind = 'a</script>"b"';
CREATE TABLE daily AS SELECT id, sum(cost) AS "the ""total""", max(cost) OVER (PARTITION BY id) AS top FROM clean;
SELECT * FROM daily JOIN elsewhere USING (id);
SELEC 1'''


@pytest.fixture(scope="module")
def scripts() -> list[Script]:
    return [Script(SQL, "models/costs.sql")]


@pytest.fixture(scope="module")
def result(scripts: list[Script]) -> AnalyzeResult:
    return lakebed.analyze(scripts, dialect="postgres")


@pytest.fixture(scope="module")
def sources(scripts: list[Script]) -> ScriptTexts:
    return ScriptTexts(scripts)
