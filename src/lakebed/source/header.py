"""Reads what columns a file has, on the driver, with as few bytes as that takes.

The header is what is in the file. The manifest adds the types of the columns it lists; a column that only the header
has is taken as the dictionary of known columns has it, else as text. One that only the manifest has is a refusal,
unless the user allows that it is missing.

Of two equal names the second is called `name#2`, the third `name#3` (`schema.names.distinct_originals`).
"""

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import IO, TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import HeaderError, NotFound, SourceError
from lakebed.kernels.archives import data_members
from lakebed.kernels.header import refuse_other_separators, require_columns
from lakebed.kernels.limits import DEFAULT_LIMITS, Limits, allow_long_fields
from lakebed.kernels.streams import corruption_as_source_error
from lakebed.model import Delivery, SourceColumn, SourceFile
from lakebed.schema.names import NAMINGS, distinct_originals, has_finished_names, normalize_column_name
from lakebed.source.deliveries import FOCUS_COLUMNS, PAYER_COLUMNS
from lakebed.storage import Storage

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_FIRST_READ_BYTES = 64 * 1024
# Text packs about tenfold: a part of a packed file is unpacked to so many times its size and no further.
_UNPACKED_TIMES = 8
# A Parquet file says the types of its columns; that one is text may only mean that its writer knew no better.
NOT_TELLING = (None, "string", "large_string", "null")
_UNDECODED = re.compile("[\udc80-\udcff]")
_DAMAGED = "Copy the file again: it ends too early or was damaged on the way."


def with_columns(
    delivery: Delivery, storage: Storage, limits: Limits = DEFAULT_LIMITS, *, allow_missing: Collection[str] = ()
) -> Delivery:
    """The delivery with the columns that its first file has, typed by its manifest.

    Raises HeaderError where that file lacks columns that the manifest lists, but for those in `allow_missing`.
    """
    if not delivery.files:
        return delivery
    first = delivery.files[0]
    found = _told_by_later_files(_file_columns(first, storage, limits), delivery.files[1:], storage)
    listed = _as_the_file_spells(delivery.columns, tuple(column.original for column in found))
    names = {column.original for column in found}
    required = [column.original for column in listed if not is_allowed(column.original, allow_missing)]
    require_columns(names, required, file=first.key)
    types = {column.original: column.declared_type for column in listed}
    columns = tuple(
        column
        if column.declared_type not in NOT_TELLING
        else SourceColumn(column.original, types.get(column.original) or column.declared_type)
        for column in found
    )
    kind = delivery.kind
    if kind in ("cur2", "focus"):
        kind = "focus" if len(FOCUS_COLUMNS & names) > 1 else "cur2"
    return replace(delivery, columns=columns, listed=listed, kind=kind)


def _told_by_later_files(
    found: tuple[SourceColumn, ...], files: Sequence[SourceFile], storage: Storage
) -> tuple[SourceColumn, ...]:
    """The columns with a type for those that have no value in the first Parquet file: some writers give them none."""
    later = iter(file for file in files if file.content == "parquet")
    while (silent := {one.original for one in found if one.declared_type == "null"}) and (file := next(later, None)):
        told = {column.original: column for column in _parquet_columns(file, storage)}
        found = tuple(told.get(one.original, one) if one.original in silent else one for one in found)
    return found


def is_allowed(original: str, allow_missing: Collection[str]) -> bool:
    """Whether a file may lack this column: the user names it by its original or as the table calls it."""
    forms = {original, *(normalize_column_name(original, naming) for naming in NAMINGS)}
    return not forms.isdisjoint(allow_missing)


def _as_the_file_spells(listed: Sequence[SourceColumn], header: Sequence[str]) -> tuple[SourceColumn, ...]:
    """The manifest's columns by the originals of the file, each distinct.

    A CUR in Parquet has finished names (`line_item_unblended_cost`), and its manifest may still write
    `lineItem/UnblendedCost`. Two tags that differ in case are two columns of the manifest and one of such a file.
    """
    present = set(header)
    finished = has_finished_names(header)
    spelt: dict[str, SourceColumn] = {}
    for name, column in zip(distinct_originals(column.original for column in listed), listed, strict=True):
        forms = [normalize_column_name(column.original, naming) for naming in NAMINGS] if finished else []
        wanted = next((form for form in (name, *forms) if form in present), name)
        spelt.setdefault(wanted, SourceColumn(wanted, column.declared_type))
    return tuple(spelt.values())


def read_header(file: SourceFile, storage: Storage, limits: Limits = DEFAULT_LIMITS) -> tuple[str, ...]:
    """The original names of a file's columns, each distinct. Raises HeaderError for a header that cannot be right."""
    return tuple(column.original for column in _file_columns(file, storage, limits))


def read_payer(file: SourceFile, storage: Storage, limits: Limits = DEFAULT_LIMITS) -> str | None:
    """The payer account in the first row of a file; None where there is no row, or no such column."""
    if file.content == "csv":
        names, fields = _first_two(file, storage, limits)
        record = dict(zip(names, fields or [], strict=False))
        return next((record[name] for name in PAYER_COLUMNS if record.get(name)), None)
    with _open_parquet(file, storage) as parquet:
        for name in PAYER_COLUMNS:
            if name in parquet.schema_arrow.names:
                for batch in parquet.iter_batches(batch_size=1, columns=[name]):
                    value = batch.column(0)[0].as_py()
                    return None if value is None else str(value)
    return None


def _file_columns(file: SourceFile, storage: Storage, limits: Limits) -> tuple[SourceColumn, ...]:
    found = _parquet_columns(file, storage) if file.content == "parquet" else _csv_columns(file, storage, limits)
    limits.require_columns(found, file.key)
    return found


def _csv_columns(file: SourceFile, storage: Storage, limits: Limits) -> tuple[SourceColumn, ...]:
    names, fields = _first_two(file, storage, limits)
    refuse_other_separators(names, file=file.key)
    if fields is not None and len(fields) != len(names):
        raise HeaderError(
            f"the header names {len(names)} columns, the first line after it has {len(fields)} fields{_glued(names)}",
            file=file.key,
            remedy="Ask for the delivery again, or mend the header: which value belongs to which column is not known.",
        )
    return tuple(SourceColumn(name) for name in distinct_originals(names))


def _glued(names: list[str]) -> str:
    """Two names of a CUR with the comma between them lost have two slashes."""
    suspects = [name for name in names if name.count("/") > 1 and not name.startswith("resourceTags/")]
    return f"; {suspects[0]} looks like two names" if suspects else ""


def _first_two(file: SourceFile, storage: Storage, limits: Limits) -> tuple[list[str], list[str] | None]:
    """The header and the first record after it, None where nothing follows."""
    size, longest = _FIRST_READ_BYTES, limits.header_bytes
    while True:
        most = min(_UNPACKED_TIMES * size, longest + 1)
        data, ended = _plain_start(file, storage, size, most)
        records = _records(_decoded(data, file), ended=ended)
        if len(records) >= 2 or ended:
            break
        longest = limits.header_bytes + (limits.line_bytes if records else 0)
        if len(data) > longest:
            raise HeaderError(
                f"no end of the {'first line after the header' if records else 'header'} within {len(data)} bytes: is a"
                " quote never closed, or are line ends not newlines?",
                file=file.key,
                remedy=limits.remedy("line_bytes" if records else "header_bytes"),
            )
        size *= 4
    if not records or not any(records[0]):
        raise HeaderError("there is no header: the file is empty", file=file.key, remedy=_DAMAGED)
    if any(_UNDECODED.search(name) for name in records[0]):
        raise HeaderError("the header is not UTF-8", file=file.key, remedy="Convert the file to UTF-8 first.")
    # What is wrong with a row is told by the load, with its line and column, or set aside with its row.
    return records[0], [_UNDECODED.sub("\ufffd", text) for text in records[1]] if len(records) > 1 else None


def _records(text: str, *, ended: bool) -> list[list[str]]:
    """The first two records that are surely whole: the last one of a part of a file may go on."""
    records: list[list[str]] = []
    allow_long_fields()
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        for record in reader:
            if record:
                records.append(record)
            if len(records) == 3:
                break
    except csv.Error:
        # Inside a part of a file: a record longer than csv's limit, or one that is cut.
        return []
    if not ended and len(records) < 3:
        records = records[:-1]
    return records[:2]


def _decoded(data: bytes, file: SourceFile) -> str:
    """The text; bytes that are not UTF-8 stay as surrogates, for whoever knows where they stand."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise HeaderError(
            "the file is UTF-16, not UTF-8", file=file.key, remedy="Convert it first: iconv -f UTF-16 -t UTF-8."
        )
    if b"\0" in data[:4096]:
        raise HeaderError("the file is not text", file=file.key, remedy="Is it packed, without its name saying so?")
    return data.decode("utf-8-sig", errors="surrogateescape")


def _plain_start(file: SourceFile, storage: Storage, size: int, most: int) -> tuple[bytes, bool]:
    """The beginning of a file, `size` bytes of it unpacked to `most` bytes, and whether that is all of it."""
    if file.compression == "zip":
        with corruption_as_source_error(file):
            return _unzipped(file, storage, most=min(size, most))
    size = min(size, most) if file.compression == "none" else size
    packed = storage.read_range(file.uri, 0, size)
    whole = len(packed) >= file.size_bytes or len(packed) < size
    if file.compression == "none":
        return packed, whole
    try:
        return _gunzipped(packed, whole, most=most)
    except zlib.error as error:
        raise SourceError(f"{file.key}: not readable as {file.compression}: {error}", remedy=_DAMAGED) from error


def _gunzipped(packed: bytes, whole: bool, *, most: int) -> tuple[bytes, bool]:
    plain = bytearray()
    # A gzip file may have several members one after the other.
    while packed:
        if len(plain) >= most:
            return bytes(plain), False
        unpacker = zlib.decompressobj(wbits=31)
        plain += unpacker.decompress(packed, most - len(plain))
        if not unpacker.eof:
            return bytes(plain), whole and not unpacker.unconsumed_tail
        packed = unpacker.unused_data
    return bytes(plain), whole


def count_members(file: SourceFile, storage: Storage) -> int:
    """How many data files are in an archive."""
    with (
        corruption_as_source_error(file),
        zipfile.ZipFile(cast(IO[bytes], io.BufferedReader(_Ranges(file, storage)))) as archive,
    ):
        return len(data_members(archive, key=file.key))


def _unzipped(file: SourceFile, storage: Storage, *, most: int) -> tuple[bytes, bool]:
    """The beginning of the first data file in an archive, and whether that is all of it."""
    with (
        zipfile.ZipFile(cast(IO[bytes], io.BufferedReader(_Ranges(file, storage)))) as archive,
        archive.open(data_members(archive, key=file.key)[0]) as unpacked,
    ):
        plain = unpacked.read(most)
        return plain, len(plain) < most


class _Ranges(io.RawIOBase):
    """A stored file of which only the ranges that are read are fetched."""

    def __init__(self, file: SourceFile, storage: Storage) -> None:
        self._file = file
        self._storage = storage
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size_bytes}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = self._file.size_bytes - self._at if size < 0 else size
        data = self._storage.read_range(self._file.uri, self._at, wanted)
        self._at += len(data)
        return data

    def readinto(self, buffer: "Buffer") -> int:
        view = memoryview(buffer)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)


def _open_parquet(file: SourceFile, storage: Storage) -> pq.ParquetFile:
    try:
        opened = pq.ParquetFile(pa.PythonFile(_Ranges(file, storage), mode="r"))
        opened.schema_arrow.to_string()  # names that are no UTF-8 show now
        return opened
    except NotFound:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise HeaderError(f"not readable as Parquet: {error}", file=file.key, remedy=_DAMAGED) from error


def _parquet_columns(file: SourceFile, storage: Storage) -> tuple[SourceColumn, ...]:
    with _open_parquet(file, storage) as parquet:
        return tuple(_distinct_fields(parquet.schema_arrow))


def _distinct_fields(schema: pa.Schema) -> Iterator[SourceColumn]:
    for name, field in zip(distinct_originals(schema.names), schema, strict=True):
        yield SourceColumn(name, str(field.type), field.type if pa.types.is_nested(field.type) else None)
