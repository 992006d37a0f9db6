"""Opens files on a worker: pyarrow's file systems, from the settings that travel with the job."""

import errno
import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import pyarrow.fs as pafs

from lakebed.errors import EngineError
from lakebed.kernels.storage_settings import StorageSettings, require_no_credentials

# What a network, or a disk behind one, says when the same call may do better a moment later.
_PASSING = frozenset(
    {
        errno.EIO,
        errno.EAGAIN,
        errno.EINTR,
        errno.EBUSY,
        errno.ETIMEDOUT,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ECONNREFUSED,
        errno.EPIPE,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENETRESET,
        errno.EHOSTUNREACH,
        errno.ESTALE,
    }
)
# Object stores say it in words: pyarrow passes on those of the libraries that it calls them with.
_PASSING_WORDS = re.compile(
    r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING|REQUEST_TIMEOUT|curlCode|"
    r"HTTP status (?:408|429|5\d\d)|UNAVAILABLE|DEADLINE_EXCEEDED|[Tt]imed? ?out|"
    r"[Cc]onnection (?:was )?(?:reset|refused|closed|aborted)|temporarily"
)


def is_passing(error: Exception) -> bool:
    """Whether the same call may succeed when it is made again: the storage did not answer, or not in time."""
    if not isinstance(error, OSError):
        return False
    if isinstance(error, ConnectionError | TimeoutError) or error.errno in _PASSING:
        return True
    return error.errno is None and _PASSING_WORDS.search(str(error)) is not None


def failed(error: Exception, what: str) -> EngineError:
    """What travels back as a value: an exception would be retried by Spark, and end in Java.

    That is right for what may pass: such an error is raised.
    """
    if is_passing(error):
        raise error
    return EngineError(f"PyArrow failed on a Spark worker during {what}: {error}")


def filesystem(uri: str, storage: StorageSettings) -> tuple[pafs.FileSystem, str]:
    """The file system of an address, and the path inside it."""
    parts = urlsplit(uri)
    require_no_credentials(uri)
    if parts.scheme == "s3":
        return _s3(storage.for_uri(uri)), uri.removeprefix("s3://")
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
