"""`lakebed.merge` around its engines: what the caller gives reaches them."""

from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.config import Settings
from lakebed.errors import DatasetMergeError, EngineError

OLD = pa.table({"id": [1, 2], "v": ["a", "b"]})


def test_spark_gets_the_callers_settings_and_work_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Settings] = []

    def open_session(settings: Settings, *, spark: object = None) -> None:
        seen.append(settings)
        raise EngineError("no session in this test")

    monkeypatch.setattr("lakebed.engines.spark.merge.open_session", open_session)
    for given in ({"master": "local[3]", "engine": "spark"}, {"master": "local[3]"}):
        with pytest.raises(EngineError, match="no session in this test"):
            lakebed.merge(OLD, tmp_path / "t", keys="id", workdir=tmp_path / "w", **given)
    assert [(one.spark.master, one.workdir) for one in seen] == [("local[3]", str(tmp_path / "w"))] * 2


def test_a_session_has_no_meaning_for_another_engine(tmp_path: Path) -> None:
    with pytest.raises(DatasetMergeError, match="spark, master and remote have no meaning for the engine duckdb"):
        lakebed.merge(OLD, tmp_path / "t", keys="id", engine="duckdb", remote="sc://host")


def test_partition_columns_is_another_name_of_partition_by(tmp_path: Path) -> None:
    for number, given in enumerate(({"partition_by": "v"}, {"partition_columns": ["v"]})):
        lakebed.merge(OLD, tmp_path / str(number), keys="id", workdir=tmp_path / "w", **given)
        assert {path.name for path in (tmp_path / str(number)).iterdir() if path.is_dir()} == {"v=a", "v=b"}
    with pytest.raises(DatasetMergeError, match="two names of one argument"):
        lakebed.merge(OLD, tmp_path / "t", keys="id", partition_by="v", partition_columns="v")
