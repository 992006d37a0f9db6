"""Opens files on a worker: pyarrow's file systems, from the settings that travel with the job."""

from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from lakebed.kernels.storage_settings import StorageSettings, require_no_credentials


def filesystem(uri: str, storage: StorageSettings) -> tuple[pafs.FileSystem, str]:
    """The file system of an address, and the path inside it."""
    parts = urlsplit(uri)
    require_no_credentials(uri)
    if parts.scheme == "s3":
        return _s3(storage), uri.removeprefix("s3://")
    if parts.scheme == "gs":
        return pafs.GcsFileSystem(), uri.removeprefix("gs://")
    if parts.scheme == "az":
        found, path = pafs.FileSystem.from_uri(uri)
        return found, path
    return pafs.LocalFileSystem(), unquote(parts.path) if parts.scheme == "file" else uri


@lru_cache(maxsize=8)
def _s3(storage: StorageSettings) -> pafs.S3FileSystem:
    endpoint = urlsplit(storage.endpoint_url) if storage.endpoint_url else None
    options = {
        "access_key": storage.access_key_id,
        "secret_key": storage.secret_access_key,
        "session_token": storage.session_token,
        "region": storage.region,
        "role_arn": storage.role_arn,
        "session_name": storage.role_session_name,
        "external_id": storage.external_id,
        "endpoint_override": endpoint.netloc if endpoint else None,
        "scheme": endpoint.scheme if endpoint else None,
    }
    return pafs.S3FileSystem(
        anonymous=storage.anonymous, **{key: value for key, value in options.items() if value is not None}
    )
