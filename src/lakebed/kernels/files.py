"""Opens files on a worker: pyarrow's file systems, from the settings that travel with the job."""

from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from lakebed.kernels.storage_settings import StorageSettings


def filesystem(uri: str, settings: StorageSettings) -> tuple[pafs.FileSystem, str]:
    """The file system of an address, and the path inside it."""
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        return _s3(settings), uri.removeprefix("s3://")
    if parts.scheme == "gs":
        return pafs.GcsFileSystem(), uri.removeprefix("gs://")
    if parts.scheme == "az":
        found, path = pafs.FileSystem.from_uri(uri)
        return found, path
    return pafs.LocalFileSystem(), unquote(parts.path) if parts.scheme == "file" else uri


@lru_cache(maxsize=8)
def _s3(settings: StorageSettings) -> pafs.S3FileSystem:
    endpoint = urlsplit(settings.endpoint_url) if settings.endpoint_url else None
    options = {
        "access_key": settings.access_key_id,
        "secret_key": settings.secret_access_key,
        "session_token": settings.session_token,
        "region": settings.region,
        "role_arn": settings.role_arn,
        "session_name": settings.role_session_name,
        "external_id": settings.external_id,
        "endpoint_override": endpoint.netloc if endpoint else None,
        "scheme": endpoint.scheme if endpoint else None,
    }
    return pafs.S3FileSystem(
        anonymous=settings.anonymous, **{key: value for key, value in options.items() if value is not None}
    )
