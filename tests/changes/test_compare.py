"""Two states of a project: folders, and git revisions of one."""

import subprocess
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import ConfigError, LineageError


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


def shown(edges: tuple[lakebed.ComparedEdge, ...]) -> set[str]:
    return {f"{edge.source} -> {edge.target} {edge.role}" for edge in edges}


def test_edges_tables_and_columns_gained_and_lost(tmp_path: Path) -> None:
    old = write(tmp_path / "old", a="SELECT x, y FROM t", gone="SELECT x FROM t")
    new = write(tmp_path / "new", a="SELECT x,\n z FROM T WHERE y > 1", came="SELECT x FROM a")
    found = lakebed.compare_lineage(new, old)
    assert shown(found.gained) == {"T.z -> a.z value", "T.y -> a filter", "a.x -> came.x value"}
    assert shown(found.lost) == {"t.y -> a.y value", "t.x -> gone.x value"}
    assert (found.tables_gained, found.tables_lost) == (("came",), ("gone",))
    assert (found.columns_gained, found.columns_lost) == (("a.z",), ("a.y",))
    assert (found.gained[0].file, found.gained[0].line) == ("a.sql", 1)
    assert lakebed.compare_lineage(new, new).same


def test_queries_without_a_name_compare_by_their_files(tmp_path: Path) -> None:
    old = write(tmp_path / "old", q="SELECT 1 AS a; SELECT x FROM t")
    new = write(tmp_path / "new", q="SELECT 1 AS a; SELECT y FROM t")
    found = lakebed.compare_lineage(new, old)
    assert shown(found.gained) == {"t.y -> <q.sql>.y value"}


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path / "sql models", a="SELECT x FROM t")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "tag", "v1")
    write(tmp_path / "sql models", a="SELECT y FROM t")
    return tmp_path


@pytest.mark.parametrize("revision", ["HEAD", "main", "v1"])
def test_a_git_revision(repository: Path, revision: str) -> None:
    found = lakebed.compare_lineage(repository / "sql models", revision)
    assert shown(found.gained) == {"t.y -> a.y value"}
    assert shown(found.lost) == {"t.x -> a.x value"}
    assert found.lost[0].file == "a.sql"


def test_a_folder_that_was_not_there_yet_gains_everything(repository: Path) -> None:
    write(repository / "late", b="SELECT x FROM t")
    assert shown(lakebed.compare_lineage(repository / "late", "v1").gained) == {"t.x -> b.x value"}


def test_a_whole_repository(repository: Path) -> None:
    assert shown(lakebed.compare_lineage(repository, "v1").lost) == {"t.x -> a.x value"}


@pytest.mark.parametrize("revision", ["nowhere", "--output=x", "v1:a", ""])
def test_a_revision_that_does_not_exist_is_refused(repository: Path, revision: str) -> None:
    with pytest.raises((ConfigError, LineageError), match=r"revision|folder"):
        lakebed.compare_lineage(repository / "sql models", revision or "HEAD~9")
    assert not (repository / "x").exists()


def test_outside_of_a_repository_only_folders_compare(tmp_path: Path) -> None:
    folder = write(tmp_path / "m", a="SELECT 1 AS a")
    with pytest.raises((ConfigError, LineageError)):
        lakebed.compare_lineage(folder, "HEAD")
    with pytest.raises(ConfigError):
        lakebed.compare_lineage(tmp_path / "nowhere", folder)


def test_dbt_projects_against_a_revision_are_read_from_their_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "dbt_project.yml").write_text("name: shop")
    write(tmp_path / "models", a="select x from {{ source('raw', 't') }}")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    write(tmp_path / "models", a="select x, y from {{ source('raw', 't') }}")
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "manifest.json").write_text('{"nodes": {}}')
    assert shown(lakebed.compare_lineage(tmp_path, "HEAD", dbt=True).gained) == {"raw.t.y -> a.y value"}
