"""The one door to files, on a real S3 server."""

import hashlib
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from tests.support.s3_server import S3Server

from lakebed.errors import AlreadyExists, Changed, NotFound, StorageError
from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import Storage, join

pytestmark = pytest.mark.server


@pytest.fixture
def storage(s3_server: S3Server) -> Storage:
    return Storage(s3_server.settings)


def test_put_list_read_range_move_delete(storage: Storage, s3_server: S3Server) -> None:
    bucket = s3_server.new_bucket()
    uri = join(bucket, "größe/p=1/a b+c.csv")
    storage.put(uri, b"abc")
    storage.put(join(bucket, "other/x"), b"")
    assert [entry.uri for entry in storage.list(join(bucket, "größe"))] == [uri]
    assert storage.read_range(uri, 1, 99) == b"bc"
    storage.move(uri, join(bucket, "moved"))
    assert sorted(entry.uri for entry in storage.list(bucket)) == [join(bucket, "moved"), join(bucket, "other/x")]
    storage.delete([join(bucket, "moved"), join(bucket, "never-was")])
    assert [entry.uri for entry in storage.list(bucket)] == [join(bucket, "other/x")]


def test_create_only_and_stale_etags_are_refused(storage: Storage, s3_server: S3Server) -> None:
    uri = join(s3_server.new_bucket(), "lock")
    first = storage.put(uri, b"one", create_only=True)
    with pytest.raises(AlreadyExists):
        storage.put(uri, b"two", create_only=True)
    storage.put(uri, b"three", if_match=first.etag)
    with pytest.raises(Changed):
        storage.put(uri, b"four", if_match=first.etag)
    assert storage.read(uri) == b"three"


def test_a_copy_streams_both_ways(storage: Storage, s3_server: S3Server, tmp_path: Path) -> None:
    body = bytes(range(256)) * 80_000
    here, there, back = str(tmp_path / "a"), join(s3_server.new_bucket(), "b"), str(tmp_path / "c")
    Path(here).write_bytes(body)
    assert storage.copy(here, there).sha256 == storage.copy(there, back).sha256 == hashlib.sha256(body).hexdigest()
    assert Path(back).read_bytes() == body


def test_workers_reach_the_same_objects_with_the_same_settings(storage: Storage, s3_server: S3Server) -> None:
    uri = join(s3_server.new_bucket(), "folder/x")
    storage.put(uri, b"abc")
    opened, path = filesystem(uri, storage.settings.resolved())
    assert opened.get_file_info(path).type == pafs.FileType.File
    assert opened.open_input_stream(path).read() == b"abc"


def test_errors_name_the_address(storage: Storage, s3_server: S3Server) -> None:
    bucket = s3_server.new_bucket()
    with pytest.raises(NotFound, match="nothing at s3://"):
        storage.read(join(bucket, "gone"))
    stranger = Storage(
        StorageSettings(endpoint_url=s3_server.endpoint, region="us-east-1", access_key_id="x", secret_access_key="y")
    )
    with pytest.raises(StorageError, match="s3://"):
        stranger.read(join(bucket, "gone"))
