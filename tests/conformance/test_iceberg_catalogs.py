"""One story on every catalog that can be had: databases, and REST servers that are not ours."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support.postgres import postgres_server
from tests.support.rest_fixture import rest_fixture
from tests.support.s3_server import S3Server

import lakebed
from lakebed.errors import ConcurrentModification, TargetError
from lakebed.targets.iceberg.target import IcebergTarget
from lakebed.workspace import Workspace

Settings = dict[str, dict[str, str]]
TABLE = "iceberg:prod:story.costs"


def on_sqlite(folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> Settings:
    return {"catalog.prod": {"type": "sql", "uri": f"sqlite:///{folder}/prod.db", "warehouse": f"file://{folder}/prod"}}


def on_postgres(folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> Settings:
    uri = stack.enter_context(postgres_server())
    return {"catalog.prod": {"type": "sql", "uri": uri, "warehouse": f"file://{folder}/prod"}}


def on_the_projects_fixture(folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> Settings:
    uri = stack.enter_context(rest_fixture(folder / "fixture"))
    oauth = {"credential": "client:secret", "oauth2-server-uri": f"{uri}/v1/oauth/tokens", "scope": "catalog"}
    return {"catalog.prod": {"type": "rest", "uri": uri, **oauth}}


def on_seaweedfs_signed(folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> Settings:
    server: S3Server = request.getfixturevalue("s3_server")
    return {"storage": storage(server), "catalog.prod": server.catalog_properties}


def on_seaweedfs_oauth(folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> Settings:
    server: S3Server = request.getfixturevalue("s3_server")
    return {
        "storage": storage(server),
        "catalog.prod": {
            "type": "rest",
            "uri": server.iceberg_endpoint,
            "warehouse": f"s3://{server.table_bucket}",
            "credential": f"{server.access_key}:{server.secret_key}",
            "oauth2-server-uri": f"{server.iceberg_endpoint}/v1/oauth/tokens",
        },
    }


def storage(server: S3Server) -> dict[str, str]:
    return {key: value for key, value in asdict(server.settings).items() if isinstance(value, str)}


PLACES: list[Callable[[Path, ExitStack, pytest.FixtureRequest], Settings]] = [
    on_sqlite,
    on_postgres,
    on_the_projects_fixture,
    on_seaweedfs_signed,
    on_seaweedfs_oauth,
]


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__.removeprefix("on_"))
def story(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A table in the catalog that the settings name `prod`; the default catalog is left as it is."""
    with ExitStack() as stack:
        settings = request.param(tmp_path, stack, request)
        lines = []
        for section, values in settings.items():
            lines += [f"[{section}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in values.items())]
        (tmp_path / "lakebed.toml").write_text("\n".join(lines) + "\n")
        monkeypatch.chdir(tmp_path)
        yield f"iceberg:prod:{request.param.__name__}.costs"


def merge(address: str, ids: list[int], **columns: list[object]) -> lakebed.MergeResult:
    return lakebed.merge(pa.table({"id": ids, **columns}), address, keys="id", engine="arrow")


def rows(address: str) -> list[dict[str, object]]:
    found = lakebed.read(address)
    return sorted((found if isinstance(found, pa.Table) else found.to_table()).to_pylist(), key=str)


@pytest.mark.server
def test_the_story(story: str) -> None:
    assert merge(story, [1, 2]).total == 2
    assert merge(story, [2, 3], tag=["b", "c"]).added_columns == ("tag",)
    assert lakebed.evolve(story, {"note": "string"}).added_columns == ("note",)
    assert [row["tag"] for row in rows(story)] == [None, "b", "c"]

    # Another writer commits while we write: ours goes on top of it.
    ours, theirs = Workspace.open().target(story), story
    assert isinstance(ours, IcebergTarget)
    commit = ours.commit

    def interrupted(*arguments: object) -> object:
        ours.commit = commit  # type: ignore[method-assign]
        merge(theirs, [50])
        return commit(*arguments)  # type: ignore[arg-type]

    ours.commit = interrupted  # type: ignore[method-assign, assignment]
    done = lakebed.merge(pa.table({"id": [60]}), ours, keys="id", engine="arrow", storage=Workspace.open().storage)
    assert (done.retries, done.before, done.total) == (1, 4, 5)

    # A branch is looked at, and published.
    assert merge(f"{story}@audit", [70]).total == 6
    assert (len(rows(story)), len(rows(f"{story}@audit"))) == (5, 6)
    assert lakebed.publish(f"{story}@audit", drop_branch=True).commits == 1
    assert len(rows(story)) == 6
    merge(f"{story}@late", [80])
    merge(story, [90])
    with pytest.raises(ConcurrentModification):
        lakebed.publish(f"{story}@late")

    first = lakebed.history(story).snapshots[0]
    assert lakebed.rollback(story, first.id).rows == 2
    assert [row["id"] for row in rows(story)] == [1, 2]

    # The default catalog has nothing of it.
    assert merge(story.replace("prod:", ""), [5]).total == 1
    assert len(rows(story)) == 2


@pytest.mark.server
def test_keys_that_a_catalog_hands_out_reach_the_files(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog knows the bucket's keys, and we know the catalog alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_REGION", s3_server.region)
    properties = {
        "warehouse": s3_server.new_bucket("vended") + "/warehouse",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "s3.endpoint": s3_server.endpoint,
        "s3.path-style-access": "true",
        "s3.access-key-id": s3_server.access_key,
        "s3.secret-access-key": s3_server.secret_key,
        "include-credentials": "true",
    }
    with rest_fixture(tmp_path / "fixture", **properties) as uri:
        prod = f'[catalog.prod]\ntype = "rest"\nuri = "{uri}"\n"s3.endpoint" = "{s3_server.endpoint}"\n'
        (tmp_path / "lakebed.toml").write_text(prod)
        merge(TABLE, [1, 2])
        for engine in ("arrow", "duckdb"):
            rows_in = pa.table({"id": [2, 3], engine: ["x", "y"]})
            done = lakebed.merge(rows_in, TABLE, keys="id", engine=engine)  # type: ignore[arg-type]
            assert done.added_columns == (engine,)
        assert [row["id"] for row in rows(TABLE)] == [1, 2, 3]
        assert lakebed.evolve(TABLE, {"note": "string"}).added_columns == ("note",)
        assert lakebed.rollback(TABLE, lakebed.history(TABLE).snapshots[0].id).rows == 2


@pytest.mark.server
def test_a_wrong_secret_is_a_clear_refusal(
    tmp_path: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lakebed.toml").write_text(
        f'[catalog.prod]\ntype = "rest"\nuri = "{s3_server.iceberg_endpoint}"\nwarehouse = "s3://lake"\n'
        f'credential = "nobody:hush-hush"\n"oauth2-server-uri" = "{s3_server.iceberg_endpoint}/v1/oauth/tokens"\n'
    )
    with pytest.raises(TargetError, match="the Iceberg catalog 'prod'") as caught:
        merge(TABLE, [1])
    assert "hush-hush" not in str(caught.value)


@pytest.mark.server
def test_views_of_a_rest_catalog_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with rest_fixture(tmp_path / "fixture") as uri:
        (tmp_path / "lakebed.toml").write_text(f'[catalog.prod]\ntype = "rest"\nuri = "{uri}"\n')
        merge(TABLE, [1])
        target = Workspace.open().target(TABLE)
        assert isinstance(target, IcebergTarget)
        make_view(target, uri)
        with pytest.raises(TargetError, match=r"story\.looks is a view"):
            merge("iceberg:prod:story.looks", [1])


def make_view(target: IcebergTarget, uri: str) -> None:
    """A view, by the REST protocol: PyIceberg makes none."""
    import urllib.request

    schema = json.loads(target.existing_table().schema().model_dump_json())
    body = {
        "name": "looks",
        "schema": schema,
        "view-version": {
            "version-id": 1,
            "timestamp-ms": 1,
            "schema-id": 0,
            "summary": {"engine-name": "test"},
            "default-namespace": ["story"],
            "representations": [{"type": "sql", "sql": "SELECT 1", "dialect": "spark"}],
        },
        "properties": {},
    }
    request = urllib.request.Request(
        f"{uri}/v1/namespaces/story/views",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    urllib.request.urlopen(request).close()
