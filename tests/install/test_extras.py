"""What the package says of its extras is what the code declares; what is missing is named before anything is done."""

import re
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from tests.surface.source_tree import ROOT

import lakebed
from lakebed.dbt.facts import DBT
from lakebed.engines.duckdb.facts import EXTENSIONS
from lakebed.engines.registry import ENGINES, engine_facts
from lakebed.engines.spark.facts import CONNECT
from lakebed.errors import ExtraMissing
from lakebed.extras import Extra, require_extras
from lakebed.table.events import OPENLINEAGE
from lakebed.targets.registry import NAMES, target_kind

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
OF_ENGINES = [facts.extra for facts in map(engine_facts, ENGINES) if facts.extra is not None]
OF_TARGETS = [kind.extra for kind in map(target_kind, NAMES) if kind.extra is not None]
DECLARED = {extra.name: extra for extra in (*OF_ENGINES, *OF_TARGETS, CONNECT, EXTENSIONS, OPENLINEAGE, DBT)}
# A driver that SQLAlchemy asks for by the ledger's URL, and the sum of all.
NOT_DECLARED = {"postgres", "all"}


def hide(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As if these were not installed."""
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def test_every_extra_of_the_package_is_declared_by_what_needs_it() -> None:
    assert set(DECLARED) == set(EXTRAS) - NOT_DECLARED


def test_the_whole_is_all_of_them() -> None:
    [all_] = EXTRAS["all"]
    # dbt pins what the others want newer: who uses both has an environment for each.
    assert set(re.findall(r"[\w-]+", all_)) == {"lakebed", *EXTRAS} - {"all", "dbt"}


@pytest.mark.parametrize("name", sorted(set(EXTRAS) - {"all"}))
def test_the_install_page_lists_what_an_extra_brings(name: str) -> None:
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    [row] = re.findall(rf"^\| `lakebed\[{name}\]` \|(.*)\|$", page, re.MULTILINE)
    packages = {re.split(r"[\[<>=;~!]", one)[0] for one in EXTRAS[name]}
    assert [package for package in packages if f"`{package}" not in row and package != "duckdb"] == []


@pytest.mark.parametrize("page", ["README.md", "docs/install.md"])
def test_the_pages_name_no_extra_that_is_not_there(page: str) -> None:
    named = re.findall(r"lakebed\[([\w,-]+)\]", (ROOT / page).read_text(encoding="utf-8"))
    assert {extra for names in named for extra in names.split(",")} <= set(EXTRAS)
    assert named


def test_the_base_has_no_engine_that_an_extra_brings() -> None:
    base = {re.split(r"[\[<>=;]", one)[0] for one in PROJECT["dependencies"]}
    assert base.isdisjoint({"pyspark", "pandas", "pyiceberg", "psycopg"})


@pytest.mark.parametrize("package", ["obstore", "sqlglot", "duckdb", "pyiceberg", "pyspark", "sqlalchemy", "pydantic"])
def test_what_may_break_us_has_an_upper_bound(package: str) -> None:
    wanted = [*PROJECT["dependencies"], *(one for extra in EXTRAS.values() for one in extra)]
    mine = [one for one in wanted if re.match(rf"{package}[\[<>=]", one)]
    assert mine
    assert [one for one in mine if "<" not in one and "==" not in one] == []


def test_what_is_missing_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ExtraMissing) as missing:
        Extra("some", ("json", "no_such_module", "nor_this")).require("the thing")
    assert missing.value.message == "the thing needs no_such_module and nor_this, which are not installed"
    assert missing.value.remedy == "pip install 'lakebed[some]'"
    assert missing.value.to_dict()["extras"] == ("some",)
    Extra("some", ("json",)).require("the thing")


def test_several_extras_are_one_command() -> None:
    extras = [Extra("a", ("no_such_a",)), Extra("b", ("json",)), Extra("c", ("no_such_c",))]
    with pytest.raises(ExtraMissing, match=re.escape("pip install 'lakebed[a,c]'")):
        require_extras(extras, "it")


@pytest.mark.parametrize("module", ["pyspark", "pandas"])
def test_a_load_without_spark_does_nothing_and_says_so(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bills, work = tmp_path / "bills", tmp_path / "work"
    lakebed.sample(bills, months=1, rows=10)
    hide(monkeypatch, module)
    with pytest.raises(ExtraMissing, match=rf"{module}, which is not installed\n.*lakebed\[spark\]"):
        lakebed.run(bills, f"duckdb:{tmp_path / 'costs.duckdb'}", workdir=work)
    assert not work.exists()
    assert not (tmp_path / "costs.duckdb").exists()


def test_a_load_into_iceberg_without_it_does_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bills, work = tmp_path / "bills", tmp_path / "work"
    lakebed.sample(bills, months=1, rows=10)
    hide(monkeypatch, "pyiceberg")
    with pytest.raises(ExtraMissing, match=r"lakebed\[iceberg\]"):
        lakebed.run(bills, "iceberg:billing", workdir=work)
    assert not work.exists()


def test_a_merge_without_spark_works_on_the_other_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "pyspark", "pandas")
    rows = pa.table({"id": [1, 2]})
    for engine in ("duckdb", "arrow"):
        target = tmp_path / engine
        assert lakebed.merge(rows, target, keys="id", engine=engine, workdir=tmp_path / "work").inserted == 2
    with pytest.raises(ExtraMissing, match=r"a merge on the engine spark needs(.|\n)*lakebed\[spark\]"):
        lakebed.merge(rows, tmp_path / "spark", keys="id", engine="spark", workdir=tmp_path / "work")
    assert not (tmp_path / "spark").exists()


def test_the_doctor_warns_of_what_is_missing_and_finds_the_rest_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, "pyspark", "pyiceberg")
    health = lakebed.doctor(workdir=tmp_path)
    assert health.ok
    fixes = {check.name: check.fix for check in health.checks if check.state == "warning"}
    assert fixes["Spark"] == "pip install 'lakebed[spark]'"
    assert fixes["Iceberg"] == "pip install 'lakebed[iceberg]'"


def test_without_spark_no_java_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakebed.engines.spark.java._candidates", lambda: iter(()))
    assert {check.name: check.state for check in lakebed.doctor(quick=True, workdir=tmp_path).checks}[
        "Java"
    ] == "failed"
    hide(monkeypatch, "pyspark")
    assert lakebed.doctor(quick=True, workdir=tmp_path).ok
