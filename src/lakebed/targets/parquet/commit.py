"""What a commit moves and removes: engines' files under their final names, and a file that carries lost columns."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pyarrow.parquet as pq

from lakebed.errors import TargetError
from lakebed.kernels.files import filesystem
from lakebed.model import DataFile, Staging, WrittenFile
from lakebed.schema.arrow import from_arrow_field
from lakebed.schema.types import Schema, fold
from lakebed.storage import Storage, join, system_errors
from lakebed.targets.parquet.partitions import partition_folder
from lakebed.targets.parquet.record import Delete, Put
from lakebed.targets.parquet.state import DatasetFiles
from lakebed.targets.shared.footers import Footer, read_footers

# A file without rows that holds the schema, where no other file does.
CARRIER_PREFIX = "schema-"


def keep_schema(
    final: Schema,
    staging: Staging,
    add: Sequence[WrittenFile],
    kept: Sequence[DataFile],
    *,
    files: DatasetFiles,
    storage: Storage,
) -> tuple[list[WrittenFile], list[DataFile]]:
    """What to add so that the files alone say what the table's columns are, and which carriers may go."""
    carriers = [file for file in kept if file.rows == 0 and _name(file.uri).startswith(CARRIER_PREFIX)]
    others = [file for file in kept if file not in carriers]
    written = _checked_footers(staging, add, storage)
    if _holds(final, [*written, *files.footers(others)], staging.partition_by):
        return list(add), carriers
    if _holds(final, [*written, *files.footers(kept)], staging.partition_by):
        return list(add), []
    return [*add, _write_carrier(staging, [*add, *others], storage)], carriers


def plan_moves(
    root: str, staging: Staging, adds: Sequence[WrittenFile], leaving: Sequence[DataFile]
) -> tuple[list[Put], list[Delete]]:
    """New files take the names of those they replace, so that no reader meets both; others get new names."""
    vacant: dict[str, list[DataFile]] = defaultdict(list)
    for old in reversed(leaving):
        vacant[partition_folder(staging.partition_by, old.partition)].append(old)
    puts = []
    taken = set()
    for number, new in enumerate(adds):
        folder = partition_folder(staging.partition_by, new.partition)
        is_carrier = _name(new.path).startswith(CARRIER_PREFIX)
        if vacant[folder] and not is_carrier:
            old = vacant[folder].pop()
            taken.add(old.uri)
            final = old.uri.removeprefix(root + "/")
        else:
            name = _name(new.path) if is_carrier else f"part-{staging.id}-{number:05d}.parquet"
            final = f"{folder}/{name}" if folder else name
        puts.append(Put(new.path, final, new.size_bytes))
    deletes = [Delete(old.uri.removeprefix(root + "/"), old.size_bytes) for old in leaving if old.uri not in taken]
    return puts, deletes


def _checked_footers(staging: Staging, files: Sequence[WrittenFile], storage: Storage) -> tuple[Footer, ...]:
    """The footers of what an engine wrote, checked against what it said and what the table is to be."""
    staged = [DataFile(join(staging.folder, file.path), file.rows, file.size_bytes) for file in files]
    footers = read_footers(staged, storage, columns=())
    for file, footer in zip(files, footers, strict=True):
        if footer.file.rows != file.rows:
            raise TargetError(f"{footer.file.uri} has {footer.file.rows} rows, its writer said {file.rows}")
        for field in footer.schema:
            at = staging.schema.get_field_index(field.name)
            expected = from_arrow_field(staging.schema.field(at)).type if at >= 0 else None
            if str(from_arrow_field(field).type) != str(expected):
                raise TargetError(
                    f"{footer.file.uri}: column {field.name} is {field.type}, the staging's schema has"
                    f" {expected or 'no such column'}"
                )
    return footers


def _write_carrier(staging: Staging, beside: Sequence[WrittenFile | DataFile], storage: Storage) -> WrittenFile:
    """A file without rows, so that columns live on when no other file has them."""
    path = f"{CARRIER_PREFIX}{staging.id}.parquet"
    uri = join(staging.folder, path)
    files, inside = filesystem(uri, storage.settings.resolved())
    with system_errors(uri):
        pq.write_table(staging.schema.empty_table(), inside, filesystem=files)
    partition = beside[0].partition if beside else dict.fromkeys(staging.partition_by)
    return WrittenFile(path, 0, storage.head(uri).size_bytes, partition)


def _holds(final: Schema, footers: Iterable[Footer], partition_by: Sequence[str]) -> bool:
    """Whether these files alone say what the table's columns are, and what they were called in the source."""
    in_path = {fold(name) for name in partition_by}
    lacking = {fold(column.name): column for column in final if fold(column.name) not in in_path}
    seen: set[int] = set()
    for footer in footers:
        if id(footer.schema) in seen:
            continue
        seen.add(id(footer.schema))
        for field in footer.schema:
            wanted = lacking.get(fold(field.name))
            if wanted is None:
                continue
            column = from_arrow_field(field)
            is_named = wanted.original in (None, column.original) and set(wanted.aliases) <= set(column.aliases)
            if str(column.type) == str(wanted.type) and is_named:
                del lacking[fold(field.name)]
    return not lacking


def _name(path: str) -> str:
    return path.rpartition("/")[2]
