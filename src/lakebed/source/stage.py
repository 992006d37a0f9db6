"""Copies the files of a delivery to where the engine's workers read them: in parallel, resumable, checksummed.

Beside every staged file lies a record of what it is a copy of. A file counts as staged when its record is there and
still true; the record is written after the copy, and the copy appears whole, so half a file is never taken for one.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from lakebed.errors import Changed, LakebedError, MissingFile, NotFound
from lakebed.kernels.copy import CopiedBytes
from lakebed.model import Delivery, Slice, SourceFile, StagedFile
from lakebed.storage import (
    CHUNK_BYTES,
    Copied,
    Entry,
    Storage,
    absolute,
    is_local,
    join,
    local_path,
    make_private_folder,
)

RECORD_SUFFIX = ".staged.json"
# Called from several threads with the bytes that have arrived; a file that is there already arrives at once.
CopyProgress: TypeAlias = Callable[[SourceFile, int], None]
# Copies files, each from one place to another, and says what arrived or why not: an engine's workers, for instance.
CopyAll: TypeAlias = Callable[[Sequence[tuple[str, str]]], Sequence[CopiedBytes | LakebedError]]

# A staged file, its record, or what a copy that was killed left of one.
_OURS = re.compile(r"\.?\d{5}-")
_SAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class StagedDelivery:
    """A delivery whose files are the copies in staging, and what each of them is a copy of."""

    delivery: Delivery
    copies: tuple[StagedFile, ...]


@dataclass(frozen=True, slots=True)
class RemovedCopies:
    """How much was removed from staging."""

    deliveries: int
    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Record:
    """What a staged file is a copy of."""

    source: str
    source_etag: str
    size_bytes: int
    sha256: str
    staged_etag: str | None


def stage_files(
    delivery: Delivery,
    storage: Storage,
    folder: str,
    *,
    parallel: int = 4,
    progress: CopyProgress | None = None,
    copy_all: CopyAll | None = None,
) -> StagedDelivery:
    """Copies a delivery's files to staging. Files that an earlier run brought, and that are still right, stay.

    Threads of this process copy them, unless `copy_all` does. Raises Changed where a file is no longer the one that was
    discovered, and MissingFile where it is gone; what was copied until then is kept for the next try.
    """
    if is_local(folder):
        make_private_folder(local_path(absolute(folder)))
    place = staging_place(delivery, folder)
    arrived = {} if copy_all is None else _copy_elsewhere(copy_all, delivery, storage, place)
    records: dict[str, tuple[str, _Record]] = {}
    with ThreadPoolExecutor(max(1, parallel), thread_name_prefix="stage") as workers:
        work = {
            workers.submit(
                _stage_file, file, _copy_of(file, number, place), delivery, storage, progress, arrived.get(file.uri)
            ): file
            for number, file in enumerate(delivery.files, start=1)
        }
        try:
            for done in as_completed(work):
                records[work[done].uri] = done.result()
        except BaseException:
            workers.shutdown(wait=True, cancel_futures=True)
            raise
    files: list[SourceFile] = []
    copies: list[StagedFile] = []
    for file in delivery.files:
        uri, record = records[file.uri]
        files.append(replace(file, uri=uri, size_bytes=record.size_bytes, etag=record.staged_etag))
        copies.append(StagedFile(file.key, uri, record.size_bytes, record.sha256, file.etag))
    return StagedDelivery(replace(delivery, files=tuple(files)), tuple(copies))


def staging_place(delivery: Delivery, folder: str) -> str:
    """The folder of one delivery inside the staging folder."""
    return _place(delivery.slice, delivery.id, folder)


def _place(slice_: Slice, id_: str, folder: str) -> str:
    parts = (_safe(part) for part in (slice_.payer, slice_.report, slice_.period, id_))
    return join(absolute(folder), *parts)


def is_unchanged(delivery: Delivery, storage: Storage) -> bool:
    """Whether a delivery is still what was discovered: its manifest, and its files where they lie.

    In the overwrite layout AWS may write over files while they are read; after reading, this says whether it did.
    """
    try:
        if delivery.manifest is not None and storage.head(delivery.manifest).etag != delivery.manifest_etag:
            return False
    except NotFound:
        return False
    found = {entry.uri: entry for folder in _folders(delivery) for entry in storage.list(folder)}
    return all(file.uri in found and _is_same(found[file.uri], file) for file in delivery.files)


def remove_copies(delivery: Delivery, storage: Storage, folder: str) -> RemovedCopies:
    """Removes what staging holds of one delivery."""
    return _remove(storage, {staging_place(delivery, folder): list(storage.list(staging_place(delivery, folder)))})


def remove_old_copies(
    folder: str,
    storage: Storage,
    *,
    older_than: timedelta,
    keep: Collection[tuple[Slice, str]] = (),
    now: datetime | None = None,
) -> RemovedCopies:
    """Removes staged deliveries of which nothing has been written for so long, but for those in `keep`.

    `keep` names deliveries by slice and id.
    """
    root = absolute(folder)
    kept = {_place(slice_, id_, folder) for slice_, id_ in keep}
    limit = (now or datetime.now(UTC)) - older_than
    places: dict[str, list[Entry]] = {}
    for entry in storage.list(root):
        parts = entry.uri.removeprefix(root).strip("/").split("/")
        # Payer, report, period, delivery, file: what lies elsewhere or is called otherwise is not ours to remove.
        if len(parts) == 5 and _OURS.match(parts[4]):
            places.setdefault(join(root, *parts[:4]), []).append(entry)
    old = {
        place: entries
        for place, entries in places.items()
        if place not in kept and all(entry.modified is not None and entry.modified < limit for entry in entries)
    }
    return _remove(storage, old)


def _copy_elsewhere(
    copy_all: CopyAll, delivery: Delivery, storage: Storage, place: str
) -> dict[str, CopiedBytes | LakebedError]:
    """What arrived of the files that staging does not hold yet, by their addresses."""
    wanted = [(file, _copy_of(file, number, place)) for number, file in enumerate(delivery.files, start=1)]
    lacking = [(file.uri, target) for file, target in wanted if _valid_record(file, storage, target) is None]
    return dict(zip((uri for uri, _ in lacking), copy_all(lacking), strict=True)) if lacking else {}


def _copy_of(file: SourceFile, number: int, place: str) -> str:
    return join(place, f"{number:05d}-{_safe(file.key.rsplit('/', 1)[-1])}")


def _stage_file(
    file: SourceFile,
    target: str,
    delivery: Delivery,
    storage: Storage,
    progress: CopyProgress | None,
    arrived: CopiedBytes | LakebedError | None,
) -> tuple[str, _Record]:
    """Where the copy of a file lies, and its record."""
    if (record := _valid_record(file, storage, target)) is not None:
        if progress is not None:
            progress(file, record.size_bytes)
        return target, record
    try:
        copied = (
            storage.copy(file.uri, target, progress=None if progress is None else lambda size: progress(file, size))
            if arrived is None
            else _brought(file, arrived, storage, progress)
        )
    except NotFound as error:
        raise MissingFile(
            manifest=delivery.manifest or str(delivery.slice),
            files=(file.key,),
            remedy="It was there a moment ago: discover again.",
        ) from error
    if file.etag is not None and copied.etag != file.etag:
        storage.delete([target])
        raise Changed(
            f"{file.uri} was written over since it was discovered", uri=file.uri, remedy="Discover again, then stage."
        )
    record = _Record(
        source=file.uri,
        source_etag=copied.etag or "",
        size_bytes=copied.size_bytes,
        sha256=copied.sha256,
        staged_etag=storage.head(target).etag,
    )
    storage.put(target + RECORD_SUFFIX, json.dumps(asdict(record)).encode())
    return target, record


def _brought(
    file: SourceFile, arrived: CopiedBytes | LakebedError, storage: Storage, progress: CopyProgress | None
) -> Copied:
    """What others copied. It is a copy of what is there now: a file that was written over meanwhile is seen by that."""
    if isinstance(arrived, LakebedError):
        raise arrived
    if arrived.size_bytes != file.size_bytes:
        raise Changed(f"{file.uri} was {file.size_bytes} bytes long and gave {arrived.size_bytes}", uri=file.uri)
    if progress is not None:
        progress(file, arrived.size_bytes)
    return Copied(arrived.size_bytes, arrived.sha256, storage.head(file.uri).etag)


def _valid_record(file: SourceFile, storage: Storage, target: str) -> _Record | None:
    """The record of an earlier copy, where both it and the copy still stand for this very file."""
    try:
        record = _Record(**json.loads(storage.read(target + RECORD_SUFFIX)))
        staged = storage.head(target)
    except (NotFound, ValueError, TypeError):
        return None
    is_ours = record.source == file.uri and file.etag is not None and record.source_etag == file.etag
    if not is_ours or not record.size_bytes == staged.size_bytes == file.size_bytes:
        return None
    # A disk is read again, which is cheap and finds what rotted; a store vouches for its objects by their ETags.
    if is_local(target):
        return record if _sha256(target) == record.sha256 else None
    return record if staged.etag is not None and staged.etag == record.staged_etag else None


def _sha256(uri: str) -> str:
    digest = hashlib.sha256()
    with local_path(uri).open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _folders(delivery: Delivery) -> set[str]:
    return {file.uri.rsplit("/", 1)[0] for file in delivery.files}


def _is_same(entry: Entry, file: SourceFile) -> bool:
    return entry.size_bytes == file.size_bytes and (file.etag is None or entry.etag == file.etag)


def _remove(storage: Storage, places: dict[str, list[Entry]]) -> RemovedCopies:
    entries = [entry for some in places.values() for entry in some]
    # Records go first: a removal that is cut short leaves files that no longer count as staged.
    storage.delete([entry.uri for entry in entries if entry.uri.endswith(RECORD_SUFFIX)])
    storage.delete([entry.uri for entry in entries if not entry.uri.endswith(RECORD_SUFFIX)])
    for place in places:
        _remove_empty(place)
    data = [entry for entry in entries if not entry.uri.endswith(RECORD_SUFFIX)]
    return RemovedCopies(len(places), len(data), sum(entry.size_bytes for entry in data))


def _remove_empty(place: str) -> None:
    """The folders of a delivery, its period, its report and its payer, as far as nothing is left in them."""
    if is_local(place):
        folder = local_path(place)
        for each in (folder, *folder.parents[:3]):
            if not each.is_dir() or any(each.iterdir()):
                return
            each.rmdir()


def _safe(name: str) -> str:
    """A name as one part of a path, whatever is in it; two names never become one."""
    plain = _SAFE.sub("_", name)
    if plain == name and plain.strip("."):
        return plain
    return f"{plain.strip('.')}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"
