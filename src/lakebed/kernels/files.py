"""Opens files on a worker: pyarrow's file systems, from the settings that travel with the job."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs


def filesystem(uri: str, settings: Mapping[str, object]) -> tuple[pafs.FileSystem, str]:
    """The file system of an address, and the path inside it."""
    parts = urlsplit(uri)
    if parts.scheme == "s3":
        return _s3(tuple(sorted((key, str(value)) for key, value in settings.items()))), uri.removeprefix("s3://")
    if parts.scheme == "gs":
        return pafs.GcsFileSystem(), uri.removeprefix("gs://")
    if parts.scheme == "az":
        found, path = pafs.FileSystem.from_uri(uri)
        return found, path
    return pafs.LocalFileSystem(), unquote(parts.path) if parts.scheme == "file" else uri


@lru_cache(maxsize=8)
def _s3(settings: tuple[tuple[str, str], ...]) -> pafs.S3FileSystem:
    given = dict(settings)
    endpoint = urlsplit(given["endpoint_url"]) if "endpoint_url" in given else None
    options: dict[str, object] = {
        "access_key": given.get("access_key_id"),
        "secret_key": given.get("secret_access_key"),
        "session_token": given.get("session_token"),
        "region": given.get("region"),
        "role_arn": given.get("role_arn"),
        "session_name": given.get("role_session_name"),
        "external_id": given.get("external_id"),
        "endpoint_override": endpoint.netloc if endpoint else None,
        "scheme": endpoint.scheme if endpoint else None,
    }
    return pafs.S3FileSystem(
        anonymous="anonymous" in given, **{key: value for key, value in options.items() if value is not None}
    )
