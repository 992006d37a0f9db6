"""Which catalog an address opens: the default one, or the one that it names."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NamespaceAlreadyExistsError

import lakebed
from lakebed.datasets import evolve_s3_tables_schema
from lakebed.errors import ConfigError, NotFound
from lakebed.targets.iceberg.catalog import CatalogSettings
from lakebed.workspace import Workspace

ROWS = pa.table({"id": [1, 2]})


@pytest.fixture
def prod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A work directory with a second catalog, and that catalog's database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lakebed.toml").write_text(
        f'[catalog.prod]\ntype = "sql"\nuri = "sqlite:///{tmp_path}/prod.db"\nwarehouse = "file://{tmp_path}/prod"\n'
    )
    return str(tmp_path / "prod.db")


def rows(target: str) -> int:
    found = lakebed.read(target)
    return found.num_rows if isinstance(found, pa.Table) else found.count_rows()


def test_a_configured_catalog_is_opened_by_its_name(prod: str) -> None:
    lakebed.merge(ROWS, "iceberg:prod:ns.costs", keys="id", engine="arrow")
    assert Path(prod).exists()
    assert not Path(".lakebed/catalog.db").exists()
    assert rows("iceberg:prod:ns.costs") == 2
    with pytest.raises(NotFound, match=r"iceberg:ns\.costs"):
        lakebed.read("iceberg:ns.costs")


def test_reports_name_the_catalog_unless_it_is_the_default(prod: str) -> None:
    workspace = Workspace.open()
    assert workspace.target("iceberg:prod:a.b.costs").address == "iceberg:prod:a.b.costs"
    assert workspace.target("iceberg:lakebed:ns.costs").address == "iceberg:ns.costs"
    assert workspace.target("iceberg:ns.costs").address == "iceberg:ns.costs"


def test_an_unknown_catalog_is_refused_with_the_known_ones(prod: str) -> None:
    with pytest.raises(ConfigError, match=r"no Iceberg catalog 'production'(.|\n)*Known catalogs: lakebed, prod"):
        Workspace.open().target("iceberg:production:ns.costs")


@pytest.mark.parametrize(
    "use",
    [
        lambda target: lakebed.read(target),
        lambda target: lakebed.merge(ROWS, target, keys="id", engine="arrow"),
        lambda target: lakebed.evolve(target, {"id": "bigint"}),
    ],
)
def test_a_catalog_written_as_a_namespace_is_refused_with_the_right_form(
    prod: str, use: Callable[[str], object]
) -> None:
    with pytest.raises(ConfigError, match=r"prod is a catalog(.|\n)*mean iceberg:prod:ns\.costs\?.*lakebed:prod\.ns"):
        use("iceberg:prod.ns.costs")
    assert not Path(".lakebed/catalog.db").exists()


def test_a_namespace_that_shares_a_catalogs_name_stays_usable(prod: str) -> None:
    lakebed.merge(ROWS, "iceberg:lakebed:prod.costs", keys="id", engine="arrow")
    assert rows("iceberg:prod.costs") == 2
    lakebed.merge(ROWS, "iceberg:prod.more", keys="id", engine="arrow")
    assert rows("iceberg:lakebed:prod.more") == 2


def test_dbt_names_the_catalog_as_its_database(prod: str) -> None:
    lakebed.merge(ROWS, "iceberg:prod:ns.costs", keys="id", engine="arrow")
    new = [{"name": "b", "type": "INTEGER"}]
    for relation in ("prod.ns.costs", "iceberg:prod:ns.costs"):
        assert evolve_s3_tables_schema(relation, new) is True
    assert "b" in Workspace.open().target("iceberg:prod:ns.costs").state().schema


def test_a_namespace_that_another_makes_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four threads of dbt make their first tables in it."""
    catalog = CatalogSettings.for_workdir(tmp_path).open()
    catalog.create_namespace("costs")
    monkeypatch.setattr(catalog, "namespace_exists", lambda _: False)
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("costs")
