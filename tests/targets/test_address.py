"""How targets are written."""

from pathlib import Path

import pytest

from lakebed.errors import ConfigError
from lakebed.targets.address import Address, open_target
from lakebed.targets.duckdb.target import DuckDBTarget
from lakebed.targets.parquet.target import ParquetTarget


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("duckdb:costs.duckdb", Address("duckdb", "costs.duckdb")),
        ("duckdb:/a b/costs.duckdb#my table", Address("duckdb", "/a b/costs.duckdb", "my table")),
        ("duckdb:a#b#c", Address("duckdb", "a#b", "c")),
        ("iceberg:billing", Address("iceberg", "billing")),
        ("iceberg:billing.costs", Address("iceberg", "billing", "costs")),
        ("iceberg:a.b.costs", Address("iceberg", "a.b", "costs")),
        ("iceberg:prod:billing", Address("iceberg", "billing", catalog="prod")),
        ("iceberg:prod:a.b.costs", Address("iceberg", "a.b", "costs", catalog="prod")),
        ("iceberg:billing.costs@audit", Address("iceberg", "billing", "costs", branch="audit")),
        ("iceberg:prod:a.costs@my-branch", Address("iceberg", "a", "costs", catalog="prod", branch="my-branch")),
        ("parquet:out", Address("parquet", "out")),
        ("parquet:s3://bucket/lake/costs", Address("parquet", "s3://bucket/lake/costs")),
    ],
)
def test_every_form_reads_and_writes(text: str, expected: Address) -> None:
    assert Address.parse(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "costs", "s3://bucket/x", "mysql:x", "duckdb:", "duckdb:#t", "duckdb:f#", "duckdb:s3://b/f#t"),
        *("iceberg:a..b", "iceberg::a.b", "iceberg:prod:", "iceberg:a:b:c", "iceberg:a.b@", "iceberg:@x"),
    ],
)
def test_anything_else_is_refused_with_the_forms(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"duckdb:FILE\[#TABLE\], iceberg:\[CATALOG:\]NAMESPACE\[.TABLE\]\[@BRANCH\], parquet:FOLDER"
    ):
        Address.parse(text)


def test_a_bare_path_is_parquet_where_that_is_allowed() -> None:
    assert Address.parse("s3://bucket/x", bare_path=True) == Address("parquet", "s3://bucket/x")
    assert Address.parse("duckdb:f#t", bare_path=True).kind == "duckdb"
    with pytest.raises(ConfigError):
        Address.parse("", bare_path=True)


def test_naming_a_table() -> None:
    assert str(Address.parse("duckdb:f").with_table("costs")) == "duckdb:f#costs"
    assert str(Address.parse("iceberg:a").with_table("costs")) == "iceberg:a.costs"
    assert str(Address.parse("iceberg:prod:a@b").with_table("costs")) == "iceberg:prod:a.costs@b"
    parquet = Address.parse("parquet:f")
    assert parquet.with_table("costs") is parquet
    assert parquet.names_table
    assert not Address.parse("duckdb:f").names_table
    assert Address.parse("duckdb:f#t").with_table("t").table == "t"
    with pytest.raises(ConfigError, match="Leave one of the two out"):
        Address.parse("duckdb:f#t").with_table("u")


def test_opening(tmp_path: Path) -> None:
    assert isinstance(open_target(f"parquet:{tmp_path}/p", workdir=tmp_path), ParquetTarget)
    assert isinstance(open_target(f"duckdb:{tmp_path}/d.duckdb#t", workdir=tmp_path), DuckDBTarget)
    with pytest.raises(ConfigError, match="names no table"):
        open_target(f"duckdb:{tmp_path}/d.duckdb", workdir=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["bogus:x", "s3a://bucket/x", "hdfs://host/x", "http://host/x", "postgres:x", "Parquet:x"]
)
def test_an_unknown_scheme_is_no_folder(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="neither a kind of target nor a storage"):
        Address.parse(text, bare_path=True)
    if "://" in text:
        with pytest.raises(ConfigError, match="is no storage"):
            Address.parse(f"parquet:{text}")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_colon_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Address.parse("./a:b", bare_path=True).place == "./a:b"
    (tmp_path / "a:b").mkdir()
    assert Address.parse("a:b", bare_path=True).place == "a:b"


def test_a_place_without_a_table_is_told_in_words_that_every_command_takes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        open_target(f"duckdb:{tmp_path}/d.duckdb", workdir=tmp_path)
    assert refused.value.remedy == "Name it in the address: duckdb:FILE#TABLE."
