"""Opens a source file as a stream of plain bytes, whatever it is packed in and however it is encoded."""

import codecs
import gzip
import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO, cast

import pyarrow as pa
import pyarrow.fs as pafs

from lakebed.errors import Changed, NotFound, SourceError
from lakebed.kernels.archives import data_members
from lakebed.kernels.files import filesystem
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.model import FilePart, GzipMember, SourceFile


class _OutsideFile(OSError):
    """A place before the beginning of a file, or behind its end."""


# An archive names places in itself, versions and encodings: a damaged one names what does not exist.
_DAMAGED: tuple[type[Exception], ...] = (
    *(gzip.BadGzipFile, zipfile.BadZipFile, zlib.error),
    *(_OutsideFile, struct.error, NotImplementedError, UnicodeDecodeError),
)
try:  # Several times as fast as zlib; a worker may lack it.
    from isal import igzip, isal_zlib

    _GzipFile: type[gzip.GzipFile] = igzip.IGzipFile
    # The stub of isal calls its exception class an instance.
    _DAMAGED += (cast(type[Exception], isal_zlib.error),)
except ImportError:
    _GzipFile = gzip.GzipFile

_READ_BYTES = 1 << 20
_TRUNCATED = "Copy the file again: it ends too early or was damaged on the way."


class Checksum:
    """The SHA-256 of a file, added up while the file is read from its beginning to its end."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def add(self, data: bytes | memoryview) -> None:
        self._digest.update(data)
        self.size_bytes += len(data)

    @property
    def hex(self) -> str:
        return self._digest.hexdigest()


def sum_up(source: SourceFile, storage: StorageSettings, checksum: Checksum) -> None:
    """Reads a file for its checksum alone: of an archive, or of Parquet, which are not read from end to end."""
    opened, path = filesystem(source.uri, storage)
    with _open(opened, path, source) as raw:
        while data := raw.read(_READ_BYTES):
            checksum.add(data)


def open_streams(
    source: SourceFile,
    storage: StorageSettings,
    limits: Limits = DEFAULT_LIMITS,
    checksum: Checksum | None = None,
) -> Generator[IO[bytes], None, None]:
    """The streams of a file, one after the other: one, but for a ZIP with several members.

    Who reads them all to their end has the checksum of the file then.
    """
    opened, path = filesystem(source.uri, storage)
    gauge = Gauge(source, limits)
    with _open(opened, path, source) as raw:
        if isinstance(source.part, FilePart):
            # What it unpacks to is known, and not read beyond.
            yield cast(IO[bytes], _Spliced(raw, source.part, source))
        elif source.compression == "none":
            yield raw if checksum is None else cast(IO[bytes], _Summed(raw, checksum))
        elif source.compression == "gzip":
            packed = io.BufferedReader(_Raw(raw, checksum), _READ_BYTES)
            with _GzipFile(fileobj=packed, mode="rb") as unpacked:
                yield gauge.watch(cast(IO[bytes], unpacked))
            while packed.read(_READ_BYTES):
                pass
        else:
            if checksum is not None:
                sum_up(source, storage, checksum)
            with zipfile.ZipFile(cast(IO[bytes], io.BufferedReader(_Raw(raw), _READ_BYTES))) as archive:
                members = data_members(archive, key=source.key)
                if source.part is not None:
                    members = members[source.part.first : source.part.stop]
                for member in members:
                    with archive.open(member) as unpacked:
                        # What all parts unpack to was looked at when the archive was parted.
                        yield unpacked if source.part is not None else gauge.watch(unpacked)


@contextmanager
def open_packed(source: SourceFile, storage: StorageSettings) -> Iterator[IO[bytes]]:
    """The bytes of a file as they lie there, from which one can seek."""
    opened, path = filesystem(source.uri, storage)
    with _open(opened, path, source) as raw:
        yield raw if source.compression == "none" else cast(IO[bytes], io.BufferedReader(_Raw(raw), _READ_BYTES))


class _Spliced:
    """The header of a file's text, and then a part of it."""

    def __init__(self, file: IO[bytes], part: FilePart, source: SourceFile) -> None:
        self._file = file
        self._part = part
        self._source = source
        self._at = 0  # in the text
        self._text = self._unpack_from(GzipMember()) if part.member is not None else None

    def read(self, size: int) -> bytes:
        part = self._part
        if self._at == part.header and part.start > part.header:
            self._seek(part.start)
        wanted = min(size, (part.header if self._at < part.header else part.end) - self._at)
        data = self._read(wanted)
        if wanted and not data:
            raise self._shorter()
        self._at += len(data)
        return data

    def _seek(self, text_at: int) -> None:
        self._at = text_at
        if self._part.member is not None:
            self._text = self._unpack_from(self._part.member)
            self._skip(text_at - self._part.member.text_at)

    def _skip(self, count: int) -> None:
        assert self._text is not None
        while count:
            skipped = len(self._text.read(min(count, _READ_BYTES)))
            if not skipped:
                raise self._shorter()
            count -= skipped

    def _shorter(self) -> Changed:
        """It was as long as the part says when it was cut."""
        key = self._source.key
        return Changed(f"{key} was written over while it was read", uri=self._source.uri, remedy="Run again.")

    def _unpack_from(self, member: GzipMember) -> IO[bytes]:
        self._file.seek(member.packed_at)
        packed = io.BufferedReader(_Raw(self._file), _READ_BYTES)
        return cast(IO[bytes], _GzipFile(fileobj=packed, mode="rb"))

    def _read(self, size: int) -> bytes:
        if self._text is not None:
            return self._text.read(size)
        self._file.seek(self._at)
        return self._file.read(size)


class Gauge:
    """Counts what comes out of a packed file, all its members together: members of an archive may overlap."""

    def __init__(self, source: SourceFile, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._unpacked_bytes = 0

    def watch(self, stream: IO[bytes]) -> IO[bytes]:
        return cast(IO[bytes], _Watched(stream, self))

    def add(self, count: int) -> None:
        self._unpacked_bytes += count
        self._limits.require_unpacked(self._unpacked_bytes, self._source.size_bytes, self._source.key)


class _Summed:
    """A stream that is added up while it is read."""

    def __init__(self, stream: IO[bytes], checksum: Checksum) -> None:
        self._stream = stream
        self._checksum = checksum

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._checksum.add(data)
        return data


class AsUtf8:
    """A stream of another encoding, as UTF-8. Lines stay lines."""

    def __init__(self, stream: IO[bytes], encoding: str, key: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._key = key
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line = 1
        self._begun = False

    def read(self, size: int) -> bytes:
        while True:
            data = self._stream.read(size)
            try:
                text = self._decoder.decode(data, not data)
            except UnicodeDecodeError as error:
                raise SourceError(
                    f"{self._key}, after line {self._line}: not {self._encoding}: {error.reason}",
                    remedy="Say what it is written in, as in --encoding cp1252, or copy the file again.",
                ) from error
            if text and not self._begun:
                self._begun = True
                text = text.removeprefix("\ufeff")
            if text or not data:
                self._line += text.count("\n")
                return text.encode()


class _Watched:
    """A stream whose reading is counted; block readers read it and nothing else."""

    def __init__(self, stream: IO[bytes], gauge: Gauge) -> None:
        self._stream = stream
        self._gauge = gauge

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._gauge.add(len(data))
        return data


@contextmanager
def corruption_as_source_error(source: SourceFile) -> Iterator[None]:
    """Turns what decompressors raise into a SourceError that names the file."""
    try:
        yield
    except EOFError as error:
        raise SourceError(f"{source.key}: the {source.compression} data is cut short", remedy=_TRUNCATED) from error
    except _DAMAGED as error:
        raise SourceError(f"{source.key}: not readable as {source.compression}: {error}", remedy=_TRUNCATED) from error


def _open(opened: pafs.FileSystem, path: str, source: SourceFile) -> IO[bytes]:
    try:
        file: IO[bytes] = opened.open_input_file(path)
    except FileNotFoundError as error:
        raise NotFound(f"{source.key}: there is no such file", uri=source.uri) from error
    return file


class _Raw(io.RawIOBase):
    """A pyarrow file as Python's raw protocol, which fills the buffer it is given."""

    def __init__(self, file: IO[bytes], checksum: Checksum | None = None) -> None:
        self._file = file
        self._checksum = checksum

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._file.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        try:
            return self._file.seek(offset, whence)
        except pa.ArrowInvalid as error:
            # An OSError is what zipfile expects when a file is too short to be an archive.
            raise _OutsideFile(str(error)) from error

    def readinto(self, buffer: object) -> int:
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        if self._checksum is not None:
            self._checksum.add(memoryview(cast(bytes, buffer))[:count])
        return count
