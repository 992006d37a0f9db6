"""`lakebed dbt init`: what it adds to a project, and what it keeps."""

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from lakebed.cli import build
from lakebed.dbt.init import PACKAGE, PLUGIN, init_project
from lakebed.errors import ConfigError

PROFILES = """# ours
shop:
  target: dev
  outputs:
    dev:
      # on the desk
      type: duckdb
      path: dev.duckdb
    "ci":
      path: ci.duckdb   # small
      type: duckdb
      plugins:
      - module: excel
    prod: {type: postgres, host: db}
"""
PACKAGES = """packages:
    # from the hub
    - package: dbt-labs/dbt_utils
      version: 1.3.0
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    return folder


def test_lines_are_added_and_everything_else_is_kept(project: Path) -> None:
    (project / "profiles.yml").write_text(PROFILES)
    (project / "packages.yml").write_text(PACKAGES)
    done = init_project(project)
    assert [line.partition(":")[0] for line in done.wrote] == [
        str(project / "packages.yml"),
        str(project / "profiles.yml"),
    ]
    assert done.next[-2:] == ("dbt deps", "dbt run")
    profiles, packages = (project / "profiles.yml").read_text(), (project / "packages.yml").read_text()
    for before, after in ((PROFILES, profiles), (PACKAGES, packages)):
        kept = iter(after.splitlines())
        assert all(line in kept for line in before.splitlines())
    outputs = yaml.safe_load(profiles)["shop"]["outputs"]
    assert outputs["dev"]["plugins"] == [PLUGIN]
    assert sorted(one["module"] for one in outputs["ci"]["plugins"]) == ["excel", "lakebed.dbt.plugin"]
    assert "plugins" not in outputs["prod"]
    assert {"local": str(PACKAGE.resolve())} in yaml.safe_load(packages)["packages"]
    # Once more changes nothing.
    again = init_project(project)
    assert again.wrote == ()
    assert (project / "profiles.yml").read_text() == profiles


def test_a_project_without_either_file_gets_both(project: Path) -> None:
    init_project(project)
    [output] = yaml.safe_load((project / "profiles.yml").read_text())["shop"]["outputs"].values()
    assert output == {"type": "duckdb", "path": "dev.duckdb", "plugins": [PLUGIN]}


def test_a_package_that_moved_is_pointed_at_its_new_place(project: Path) -> None:
    (project / "packages.yml").write_text("packages: [{local: /gone/site-packages/lakebed/dbt/package}]\n")
    init_project(project)
    assert yaml.safe_load((project / "packages.yml").read_text())["packages"] == [{"local": str(PACKAGE.resolve())}]


def test_a_profile_that_lies_elsewhere_is_named_and_not_hidden(project: Path, tmp_path: Path) -> None:
    home = tmp_path / "home" / ".dbt"
    home.mkdir(parents=True)
    (home / "profiles.yml").write_text(PROFILES)
    with pytest.raises(ConfigError, match="the profile shop is in"):
        init_project(project)
    assert not (project / "profiles.yml").exists()
    init_project(project, profiles_dir=home)
    assert "lakebed" in (home / "profiles.yml").read_text()


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"dbt_project.yml": "name: shop"}, "names no profile"),
        ({"profiles.yml": "shop: {outputs: {dev: {type: duckdb, path: x}}}"}, "nothing can be added"),
        ({"profiles.yml": "shop: {outputs: {dev: {type: postgres}}}"}, "no output of the type duckdb"),
        ({"profiles.yml": "shop: ["}, "is not YAML"),
        ({"packages.yml": "- local: x"}, "not a mapping"),
    ],
)
def test_what_cannot_be_changed_is_left_alone(files: dict[str, str], said: str, project: Path) -> None:
    for name, text in files.items():
        (project / name).write_text(text)
    with pytest.raises(ConfigError, match=said):
        init_project(project)
    assert {name: (project / name).read_text() for name in files} == files


def test_the_command(project: Path) -> None:
    ran = CliRunner().invoke(build(["dbt"]), ["dbt", "init", str(project), "--json"])
    assert ran.exit_code == 0, ran.output
    assert yaml.safe_load(ran.stdout)["project"] == str(project)
    ran = CliRunner().invoke(build(["dbt"]), ["dbt", "init", str(project / "none")])
    assert ran.exit_code == 2
