"""The only door to files on the driver: local paths, s3://, gs:// and az:// alike.

Reading and listing go through obstore everywhere. Local writes are made durable by hand (fsync, rename), which obstore
does not do. Kernels on workers use `kernels/files.py` with the same settings.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, PreconditionError
from obstore.store import AzureStore, GCSStore, LocalStore, S3Store

from lakebed.errors import (
    AlreadyExists,
    Changed,
    ConfigError,
    LakebedError,
    NotFound,
    StorageError,
    access_remedy,
    first_line,
    system_refusal,
)
from lakebed.kernels.storage_settings import StorageSettings, require_no_credentials

if TYPE_CHECKING:
    from obstore.auth.boto3 import StsCredentialProvider
    from obstore.store import ClientConfig, S3Config

CHUNK_BYTES = 8 * 1024 * 1024
SCHEMES = ("s3", "gs", "az")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_Store: TypeAlias = S3Store | GCSStore | AzureStore | LocalStore


@dataclass(frozen=True, slots=True)
class Entry:
    """One file or object as it is now."""

    uri: str
    size_bytes: int
    etag: str | None
    modified: datetime | None


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy brought over."""

    size_bytes: int
    sha256: str
    etag: str | None


def is_local(uri: str) -> bool:
    """A path of this machine, plain or as file://."""
    return urlsplit(uri).scheme not in SCHEMES


def unknown_scheme(text: str) -> str | None:
    """The `bogus` of `bogus:x` or `bogus://x`, which no storage here is called and which is no path that exists."""
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", text)
    if found is None or found[1].casefold() in (*SCHEMES, "file") or os.path.lexists(text):
        return None
    return found[1]


def local_path(uri: str) -> Path:
    """The path behind a local address."""
    if uri.startswith("file:"):
        return Path(unquote(urlsplit(uri).path))
    if not is_local(uri):
        raise StorageError(f"{uri} is not on this machine's disk", uri=uri)
    return Path(uri)


def join(folder: str, *parts: str) -> str:
    """A place inside a folder, whatever the folder's kind."""
    return "/".join([folder.rstrip("/"), *(part.strip("/") for part in parts if part)])


def absolute(uri: str) -> str:
    """The same place, independent of the current folder; file:// addresses become plain paths."""
    return os.path.abspath(local_path(uri).expanduser()) if is_local(uri) else uri.rstrip("/")


class Storage:
    """Files and objects, listed, read and written one way."""

    def __init__(self, settings: StorageSettings | None = None) -> None:
        self.settings: StorageSettings = (settings or StorageSettings()).with_key_ring()

    def list(self, folder: str) -> Iterator[Entry]:
        """Everything below a folder, in the store's own order. An absent folder is empty."""
        store, prefix = self._open(folder)
        if is_local(folder) and not local_path(folder).is_dir():
            return
        root = "/" if is_local(folder) else folder[: len(folder) - len(prefix)].rstrip("/") + "/"
        with _translated(folder):
            for batch in obstore.list(store, prefix=prefix.rstrip("/") + "/" if prefix.strip("/") else None):
                for meta in batch:
                    yield Entry(root + meta["path"], meta["size"], meta["e_tag"], meta["last_modified"])

    def head(self, uri: str) -> Entry:
        """One object's size, ETag and time. Raises NotFound."""
        store, path = self._open(uri)
        with _translated(uri):
            meta = obstore.head(store, path)
        return Entry(uri, meta["size"], meta["e_tag"], meta["last_modified"])

    def exists(self, uri: str) -> bool:
        try:
            self.head(uri)
        except NotFound:
            return False
        return True

    def read(self, uri: str) -> bytes:
        """The whole object. Raises NotFound."""
        store, path = self._open(uri)
        with _translated(uri):
            return bytes(obstore.get(store, path).bytes())

    def read_range(self, uri: str, start: int, length: int) -> bytes:
        """Up to `length` bytes from `start`; fewer at the end of the object."""
        available = max(0, min(length, self.head(uri).size_bytes - start))
        if available == 0:
            return b""
        store, path = self._open(uri)
        with _translated(uri):
            return bytes(obstore.get_range(store, path, start=start, length=available))

    def put(self, uri: str, data: bytes, *, create_only: bool = False, if_match: str | None = None) -> Entry:
        """Writes an object whole or not at all.

        `create_only` raises AlreadyExists where there is one; `if_match` raises Changed where the ETag is another.
        """
        if is_local(uri):
            _put_local(self, uri, data, create_only=create_only, if_match=if_match)
            return self.head(uri)
        store, path = self._open(uri)
        with _translated(uri):
            if if_match is not None:
                obstore.put(store, path, data, mode={"e_tag": if_match})
            else:
                obstore.put(store, path, data, mode="create" if create_only else "overwrite")
        return self.head(uri)

    def copy(self, source: str, target: str, *, progress: Callable[[int], None] | None = None) -> Copied:
        """Streams an object to another place, which holds it whole or not at all, and returns its checksum."""
        digest = hashlib.sha256()
        size = 0
        store, path = self._open(source)
        with _translated(source):
            got = obstore.get(store, path)
            with self._writer(target) as write:
                for chunk in got.stream(min_chunk_size=CHUNK_BYTES):
                    digest.update(chunk)
                    write(chunk)
                    size += len(chunk)
                    if progress is not None:
                        progress(len(chunk))
        if size != got.meta["size"]:
            self.delete([target])
            raise Changed(f"{source} was {got.meta['size']} bytes long and gave {size}", uri=source)
        return Copied(size, digest.hexdigest(), got.meta["e_tag"])

    def move(self, source: str, target: str) -> None:
        """Renames atomically on a local disk; on an object store copies on the server, then deletes."""
        if is_local(source) and is_local(target):
            with _translated(source):
                local_path(target).parent.mkdir(parents=True, exist_ok=True)
                os.replace(local_path(source), local_path(target))
            return
        origin, origin_path = self._open(source)
        if not self._is_one_store(source, target):
            self.copy(source, target)
        else:
            with _translated(source):
                obstore.copy(origin, origin_path, self._open(target)[1])
        self.delete([source])

    def duplicate(self, source: str, target: str) -> None:
        """The same content under a second name: a link on a local disk, a copy on the server of an object store."""
        if is_local(source) and is_local(target):
            with _translated(source):
                local_path(target).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(local_path(source), local_path(target))
                except OSError:  # another disk, or a file system without links
                    shutil.copyfile(local_path(source), local_path(target))
            return
        if not self._is_one_store(source, target):
            self.copy(source, target)
            return
        store, path = self._open(source)
        with _translated(source):
            obstore.copy(store, path, self._open(target)[1])

    def delete(self, uris: Iterable[str]) -> None:
        """Removes objects; what is already gone is fine."""
        by_store: dict[tuple[str, StorageSettings], list[str]] = {}
        for uri in uris:
            if is_local(uri):
                with _translated(uri):
                    local_path(uri).unlink(missing_ok=True)
            else:
                by_store.setdefault((_bucket(uri), self.settings.for_uri(uri)), []).append(uri)
        for some in by_store.values():
            store, _ = self._open(some[0])
            try:
                with _translated(some[0]):
                    obstore.delete(store, [self._open(uri)[1] for uri in some])
            except NotFound:
                for uri in some:
                    if self.exists(uri):
                        with _translated(uri):
                            obstore.delete(store, self._open(uri)[1])

    def _open(self, uri: str) -> tuple[_Store, str]:
        if _CONTROL.search(uri):
            raise StorageError(
                f"{uri!r} has a control character in it, which object stores have no paths for",
                uri=uri,
                remedy="Rename it, or choose another place.",
            )
        if is_local(uri):
            return _local_store(), os.path.abspath(local_path(uri)).lstrip("/")
        parts = urlsplit(uri)
        require_no_credentials(uri)
        store = _remote_store(_bucket(uri), self.settings.for_uri(uri))
        return store, uri[len(_bucket(uri)) :].lstrip("/") if parts.netloc else ""

    def _is_one_store(self, *uris: str) -> bool:
        """Whether the server can copy between these places: one bucket, reached with the same keys."""
        if any(is_local(uri) for uri in uris):
            return False
        return len({(_bucket(uri), self.settings.for_uri(uri)) for uri in uris}) == 1

    @contextmanager
    def _writer(self, uri: str) -> Iterator[Callable[[bytes], object]]:
        if not is_local(uri):
            store, path = self._open(uri)
            # The object appears when the writer is closed; an exception inside leaves the upload unfinished.
            with obstore.open_writer(store, path, buffer_size=CHUNK_BYTES) as writer:
                yield writer.write
            return
        final = local_path(uri)
        with _durable(final) as (handle, publish):
            yield handle.write
            publish()


@contextmanager
def _durable(final: Path) -> Iterator[tuple[FileIO, Callable[[], None]]]:
    """A file beside its final place that `publish` makes durable and renames; otherwise nothing stays behind."""
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = final.with_name(f".{final.name}.{secrets.token_hex(6)}.partial")
    handle = open(partial, "wb", buffering=0)  # noqa: SIM115 -- closed below, before the rename

    def publish() -> None:
        os.fsync(handle.fileno())
        os.replace(partial, final)
        sync_folder(final.parent)

    try:
        yield handle, publish
    finally:
        handle.close()
        partial.unlink(missing_ok=True)


@contextmanager
def open_unlinked(path: Path) -> Iterator[FileIO]:
    """A local file for reading, itself and not what a link leads to."""
    with (
        _translated(str(path)),
        open(path, "rb", buffering=0, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as handle,
    ):
        yield handle


def sync_file(path: Path) -> None:
    """Makes a file's content durable. A disk that is full or failing may tell so only now."""
    with open_unlinked(path) as handle:
        os.fsync(handle.fileno())


def make_private_folder(folder: Path) -> None:
    """Makes a folder that only this user enters. One that is there already keeps the rights that its owner gave it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def sync_folder(folder: Path) -> None:
    """Makes renames and removals inside a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_local(storage: Storage, uri: str, data: bytes, *, create_only: bool, if_match: str | None) -> None:
    final = local_path(uri)
    if if_match is not None and (not final.exists() or storage.head(uri).etag != if_match):
        raise Changed(f"{uri} is not what it was", uri=uri)
    with _translated(uri), _durable(final) as (handle, publish):
        handle.write(data)
        if not create_only:
            publish()
            return
        os.fsync(handle.fileno())
        try:
            # A hard link is the one local operation that creates a name with its whole content, or fails.
            os.link(handle.name, final)
        except FileExistsError:
            raise AlreadyExists(f"{uri} exists already", uri=uri) from None
        sync_folder(final.parent)


def _bucket(uri: str) -> str:
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}"


@lru_cache(maxsize=1)
def _local_store() -> LocalStore:
    return LocalStore("/")


@lru_cache(maxsize=64)
def _remote_store(bucket: str, settings: StorageSettings) -> _Store:
    parts = urlsplit(bucket)
    resolved = settings.resolved()
    if parts.scheme == "gs":
        return GCSStore(parts.netloc)
    if parts.scheme == "az":
        return AzureStore(parts.netloc)
    config: S3Config = {"region": resolved.region} if resolved.region else {}
    if resolved.access_key_id and not resolved.role_arn:
        config["access_key_id"] = resolved.access_key_id
        config["secret_access_key"] = resolved.secret_access_key or ""
    if resolved.session_token and not resolved.role_arn:
        config["session_token"] = resolved.session_token
    if resolved.endpoint_url:
        config["endpoint"] = resolved.endpoint_url
    if resolved.anonymous:
        config["skip_signature"] = True
    if resolved.requester_pays:
        config["request_payer"] = True
    client: ClientConfig = {"allow_http": (resolved.endpoint_url or "").startswith("http://")}
    provider = _assumed_role(resolved) if resolved.role_arn else None
    return S3Store(parts.netloc, config=config, client_options=client, credential_provider=provider)


def _assumed_role(settings: StorageSettings) -> "StsCredentialProvider":
    try:
        import boto3  # only an assumed role needs it; the rest of S3 does not
        from obstore.auth.boto3 import StsCredentialProvider
    except ImportError:
        raise ConfigError(
            f"assuming the role {settings.role_arn} needs boto3, which is not installed",
            remedy="pip install boto3, or pass the role's temporary keys.",
        ) from None
    session = boto3.session.Session(
        aws_access_key_id=settings.access_key_id,
        aws_secret_access_key=settings.secret_access_key,
        aws_session_token=settings.session_token,
        region_name=settings.region,
    )
    role, name = settings.role_arn or "", settings.role_session_name or "lakebed"
    if settings.external_id:
        return StsCredentialProvider(session, RoleArn=role, RoleSessionName=name, ExternalId=settings.external_id)
    return StsCredentialProvider(session, RoleArn=role, RoleSessionName=name)


@contextmanager
def _translated(uri: str) -> Iterator[None]:
    """obstore's and the system's errors as ours, with the address and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"there is nothing at {uri}", uri=uri) from None
    except AlreadyExistsError:
        raise AlreadyExists(f"{uri} exists already", uri=uri) from None
    except PreconditionError:
        raise Changed(f"{uri} is not what it was", uri=uri) from None
    except PermissionDeniedError as error:
        remedy = access_remedy("AccessDenied")
        raise StorageError(f"access to {uri} was denied: {first_line(error)}", uri=uri, remedy=remedy) from error
    except OSError as error:
        raise system_refusal(error, uri) from error
    except BaseError as error:
        said = first_line(error)
        # A path below a file: nothing is there, and nothing can be.
        if "Not a directory" in said:
            raise NotFound(f"there is nothing at {uri}", uri=uri) from None
        named = said if local_name(uri) in said else f"{uri}: {said}"
        raise StorageError(named, uri=uri, remedy=access_remedy(said)) from error


def local_name(uri: str) -> str:
    """How messages of the system name a place."""
    return str(local_path(uri)) if is_local(uri) else uri


@contextmanager
def system_errors(place: str) -> Iterator[None]:
    """What the operating system refuses inside, as ours."""
    try:
        yield
    except OSError as error:
        if isinstance(error, LakebedError):
            raise
        raise system_refusal(error, place) from error
