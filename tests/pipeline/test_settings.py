"""Keywords of the pipeline's functions: typed, complete, and answered with the one that was meant."""

import pytest

import lakebed
from lakebed.config import setting_infos
from lakebed.errors import ConfigError
from lakebed.pipeline.settings import PARAMETERS, RunSettings


def test_every_setting_is_a_keyword() -> None:
    assert set(RunSettings.__annotations__) == {info.keyword for info in setting_infos()} - {"workdir", "source"}


@pytest.mark.parametrize(
    ("keyword", "meant"), [("reports", "report"), ("periods", "period"), ("decimal", "decimals"), ("masters", "master")]
)
def test_a_misspelt_keyword_is_answered_with_the_one_that_was_meant(keyword: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=rf"no setting '{keyword}'(.|\n)*Did you mean {meant}\?"):
        lakebed.run("bills", "duckdb:costs", **{keyword: "x"})


def test_parameters_and_settings_have_no_name_in_common() -> None:
    assert set(PARAMETERS) & set(RunSettings.__annotations__) == set()
