"""The one door to files, on a local disk. The same on S3 is in tests/conformance/test_storage_s3.py."""

import hashlib
from pathlib import Path

import pytest

from lakebed.errors import AlreadyExists, Changed, ConfigError, NotFound
from lakebed.kernels.files import filesystem
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import Storage, absolute, is_local, join, local_path

ODD_NAMES = ["a b.csv", "100%+@,()~#.csv", "größe/日本.csv", "p=1%2C2/x.csv", "c:d.csv"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_that_real_paths_have_survive_every_operation(tmp_path: Path, name: str) -> None:
    storage, uri = Storage(), join(str(tmp_path), name)
    storage.put(uri, b"abc")
    assert storage.read(uri) == b"abc"
    assert [entry.uri for entry in storage.list(str(tmp_path))] == [uri]
    assert storage.read_range(uri, 1, 99) == b"bc"
    storage.move(uri, uri + ".moved")
    assert not storage.exists(uri)
    storage.delete([uri + ".moved", uri])
    assert list(storage.list(str(tmp_path))) == []


def test_listing_an_absent_folder_is_empty(tmp_path: Path) -> None:
    assert list(Storage().list(str(tmp_path / "nothing"))) == []


def test_a_listing_does_not_reach_into_a_folder_whose_name_only_begins_alike(tmp_path: Path) -> None:
    storage = Storage()
    storage.put(join(str(tmp_path), "report/a"), b"1")
    storage.put(join(str(tmp_path), "report-2/b"), b"2")
    assert [entry.uri for entry in storage.list(join(str(tmp_path), "report"))] == [join(str(tmp_path), "report/a")]


def test_create_only_refuses_what_exists_and_leaves_it(tmp_path: Path) -> None:
    storage, uri = Storage(), str(tmp_path / "lock")
    storage.put(uri, b"first", create_only=True)
    with pytest.raises(AlreadyExists):
        storage.put(uri, b"second", create_only=True)
    assert storage.read(uri) == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_stale_etag_is_refused(tmp_path: Path) -> None:
    storage, uri = Storage(), str(tmp_path / "state")
    seen = storage.put(uri, b"one")
    storage.put(uri, b"two!", if_match=seen.etag)
    with pytest.raises(Changed):
        storage.put(uri, b"three", if_match=seen.etag)
    assert storage.read(uri) == b"two!"


def test_a_copy_is_checksummed_and_whole(tmp_path: Path) -> None:
    storage, body = Storage(), bytes(range(256)) * 100_000
    storage.put(str(tmp_path / "a"), body)
    seen: list[int] = []
    copied = storage.copy(str(tmp_path / "a"), str(tmp_path / "deep/er/b"), progress=seen.append)
    assert (copied.size_bytes, copied.sha256) == (len(body), hashlib.sha256(body).hexdigest())
    assert sum(seen) == len(body)
    assert storage.read(str(tmp_path / "deep/er/b")) == body


def test_a_failed_copy_leaves_nothing(tmp_path: Path) -> None:
    storage = Storage()

    def fail(_: int) -> None:
        raise RuntimeError("the process is interrupted")

    storage.put(str(tmp_path / "a"), b"x" * 100)
    with pytest.raises(RuntimeError):
        storage.copy(str(tmp_path / "a"), str(tmp_path / "to/b"), progress=fail)
    assert list(storage.list(str(tmp_path / "to"))) == []


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"nothing at .*gone"):
        Storage().read(str(tmp_path / "gone"))


def test_addresses() -> None:
    assert is_local("/data/x")
    assert is_local("file:///data/x")
    assert not is_local("s3://bucket/x")
    assert local_path("file:///data/a%20b") == Path("/data/a b")
    assert absolute("s3://bucket/x/") == "s3://bucket/x"
    assert filesystem("file:///data/a%20b", StorageSettings())[1] == "/data/a b"
    assert filesystem("/data/a%20b", StorageSettings())[1] == "/data/a%20b"


def test_a_profile_gives_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials, config = tmp_path / "credentials", tmp_path / "config"
    credentials.write_text("[billing]\naws_access_key_id = AK\naws_secret_access_key = S%K\n")
    config.write_text("[profile billing]\nregion = eu-west-1\n[profile sso]\nsso_session = x\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    resolved = StorageSettings(profile="billing").resolved()
    assert (resolved.access_key_id, resolved.secret_access_key, resolved.region) == ("AK", "S%K", "eu-west-1")
    assert StorageSettings(profile="billing", region="us-east-1").resolved().region == "us-east-1"
    with pytest.raises(ConfigError, match="neither keys nor a role_arn"):
        StorageSettings(profile="sso").resolved()
    with pytest.raises(ConfigError, match="no AWS profile 'nope'"):
        StorageSettings(profile="nope").resolved()
