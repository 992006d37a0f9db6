"""The driver's side of the data source `lakebed`: plans a read or a write, and commits what workers wrote."""

import json
import pickle
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lakebed.config import Settings, load_settings
from lakebed.engines.protocols.load import Engine
from lakebed.engines.protocols.rows import RowsJob
from lakebed.engines.registry import local_engine
from lakebed.engines.shared.local_rows import LocalRows
from lakebed.engines.shared.sources import rescannable
from lakebed.errors import ConfigError, LakebedError
from lakebed.kernels.rows import RowsTask, RowsWritten, together
from lakebed.kernels.scan import Scan
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.kernels.table_source import PartWritten, TableRows
from lakebed.model import ScanFile, Staging
from lakebed.schema.arrow import from_arrow_schema, to_arrow_schema
from lakebed.schema.spark import from_spark_json, to_spark_ddl
from lakebed.schema.types import fold
from lakebed.storage import Storage, is_local, join, local_path
from lakebed.table.lent_keys import storage_of
from lakebed.table.read import open_table, plan_scan, prune_files, select_columns
from lakebed.table.where import parse_where
from lakebed.table.write import plan_rows, write_rows
from lakebed.table.write_spec import WriteResult, WriteSpec
from lakebed.targets.base import Target

# Rows of a table that is not made of files travel in portions of this many.
HANDED_OVER_ROWS = 65_536


@dataclass(frozen=True)
class SourceOptions:
    """The options of one read or write, as Spark hands them over: text, whatever the case of their names."""

    address: str
    given: Mapping[str, str]

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "SourceOptions":
        given = {name.lower(): value for name, value in options.items()}
        if not given.get("path"):
            raise ConfigError(
                "the data source lakebed was not told which table",
                remedy="Name it as the path: .load('iceberg:billing.cur'), or OPTIONS (path 'iceberg:billing.cur').",
            )
        return cls(given["path"], given)

    @property
    def settings(self) -> Settings:
        return load_settings({"workdir": self.given.get("workdir")})

    @property
    def columns(self) -> list[str] | None:
        names = [name.strip() for name in self.given.get("columns", "").split(",")]
        return [name for name in names if name] or None

    @property
    def where(self) -> str | None:
        return self.given.get("where")

    def open(self, *, read_only: bool) -> Target:
        return open_table(self.address, workdir=self.given.get("workdir"), read_only=read_only)

    def write_spec(self, *, overwrite: bool, batch: int | None = None) -> WriteSpec:
        """What is asked for; `batch` is the number of a stream's batch."""
        slice_ = self._slice()
        mode = ("replace_slice" if slice_ else "overwrite") if overwrite else "append"
        names = [name.strip() for name in self.given.get("partition_by", "").split(",")]
        return WriteSpec.of(
            mode=mode,
            slice_=slice_,
            partition_by=[name for name in names if name],
            on_conflict=self.given.get("on_conflict", "refuse"),
            txn=self._txn(batch),
        )

    def _slice(self) -> dict[str, object] | None:
        if "slice" not in self.given:
            return None
        try:
            found = json.loads(self.given["slice"])
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise ConfigError(
                f"the option slice is {self.given['slice']!r}", remedy='Write it as JSON: {"day": "2026-11-01"}.'
            )
        return found

    def _txn(self, batch: int | None) -> tuple[str, int] | None:
        app, version = self.given.get("txn_app"), self.given.get("txn_version")
        if batch is not None:
            name = app or self.given.get("checkpointlocation")
            if name is None:
                raise ConfigError(
                    "a stream into lakebed needs a name that stays the same when it is started again",
                    remedy="Give .option('txn_app', NAME), or the option checkpointLocation.",
                )
            return name, batch
        if app is None and version is None:
            return None
        if app is None or version is None or not version.isdecimal():
            raise ConfigError(
                f"txn_app is {app!r} and txn_version is {version!r}",
                remedy="Give both: a name, and a number from 0 on.",
            )
        return app, int(version)


def table_ddl(options: SourceOptions) -> str:
    """The columns of the table, as Spark's DDL."""
    target = options.open(read_only=True)
    if not target.capabilities.made_of_files:
        found = target.read(options.columns)
        return to_spark_ddl(from_arrow_schema(found.schema))
    return to_spark_ddl(select_columns(plan_scan(target), options.columns).schema)


def plan_read(options: SourceOptions, wire: pa.Schema) -> tuple[bytes, list[bytes]]:
    """The read as workers take it, and the parts that each task reads one of; all pickled."""
    target = options.open(read_only=True)
    if not target.capabilities.made_of_files:
        found = target.read()
        table = found if isinstance(found, pa.Table) else found.to_table()
        condition = parse_where(options.where, from_arrow_schema(table.schema)) if options.where else None
        rows = table if condition is None else table.filter(condition.expression)
        chosen = rows.select([one.name for one in wire])
        portions = [chosen.slice(at, HANDED_OVER_ROWS) for at in range(0, chosen.num_rows, HANDED_OVER_ROWS)]
        nothing = Scan((), wire, StorageSettings())
        return pickle.dumps(TableRows(nothing, wire)), [pickle.dumps(one) for one in portions]
    plan = plan_scan(target)
    condition = parse_where(options.where, plan.schema) if options.where else None
    names = [one.name for one in wire] + list(condition.columns if condition else ())
    plan = select_columns(plan, list({fold(name): name for name in names}.values()))
    if condition is not None:
        plan = prune_files(plan, condition)
    storage = storage_of(target, Storage(options.settings.storage))
    scan = Scan((), plan.physical, storage.settings.resolved())
    payload = TableRows(scan, wire, None if condition is None else condition.expression)
    return pickle.dumps(payload), [pickle.dumps(replace(file, partition=dict(file.partition))) for file in plan.files]


def plan_parts(options: SourceOptions, schema_json: str, spec: WriteSpec) -> bytes:
    """How workers write rows of this schema, so that a commit can take their files as they are; pickled."""
    settings = options.settings
    incoming = _incoming(schema_json)
    evolution, staging = plan_rows(spec, incoming, options.open(read_only=False))
    folder = settings.new_work_folder("write")
    parts = Staging("", folder, staging.schema, staging.partition_by)
    job = RowsJob(evolution, parts, spec.typed_slice(evolution))
    return pickle.dumps(job.task(incoming, settings.storage.resolved()))


def commit_parts(
    options: SourceOptions, schema_json: str, spec: WriteSpec, results: Sequence[PartWritten | LakebedError]
) -> WriteResult:
    """Makes the parts rows of the table, in one commit; the parts themselves are removed."""
    parts = [one for one in results if isinstance(one, PartWritten)]
    settings = options.settings
    storage = Storage(settings.storage)
    try:
        for one in results:
            if isinstance(one, LakebedError):
                raise one
        rows = WrittenParts(parts, _incoming(schema_json), storage)
        return write_rows(spec, rows, options.address, settings, storage)
    finally:
        remove_parts(parts, storage)


def remove_parts(parts: Sequence[PartWritten], storage: Storage) -> None:
    """Removes what workers wrote."""
    for folder in {one.task.staging.folder for one in parts if one.task.staging is not None}:
        storage.delete([entry.uri for entry in storage.list(folder)])
        if is_local(folder):
            shutil.rmtree(local_path(folder), ignore_errors=True)


class WrittenParts:
    """Rows that workers have written as files: they are taken as they are where the table still wants them so."""

    commit_staging: str | None = None

    def __init__(self, parts: Sequence[PartWritten], schema: pa.Schema, storage: Storage) -> None:
        self._parts = parts
        self._schema = schema
        self._storage = storage
        self.engine: Engine = local_engine(storage.settings)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def require_reachable(self, folder: str) -> None:
        """The driver itself puts the files where the target wants them."""

    def write(self, job: RowsJob) -> RowsWritten:
        settings = self._storage.settings.resolved()
        wanted = job.task(self._schema, settings)
        if job.staging is None or not all(_fits(one.task, wanted) for one in self._parts):
            reader = pa.RecordBatchReader.from_batches(self._read_schema(), self._rows())
            with rescannable(reader, settings) as rows:
                return LocalRows(rows, settings).write(job)
        for one in self._parts:
            assert one.task.staging is not None
            for file in one.written.files:
                self._storage.duplicate(join(one.task.staging.folder, file.path), join(job.staging.folder, file.path))
        return together([one.written for one in self._parts])

    def _read_schema(self) -> pa.Schema:
        """The columns of the data, in the types that the parts have them in."""
        if not self._parts:
            return self._schema
        task = self._parts[0].task
        types = {place: task.schema.field(name).type for name, place in task.columns}
        return pa.schema([one.with_type(types[at]) for at, one in enumerate(self._schema)])

    def _rows(self) -> Iterator[pa.RecordBatch]:
        schema = self._read_schema()
        for one in self._parts:
            assert one.task.staging is not None
            names = {place: name for name, place in one.task.columns}
            written = pa.schema([pa.field(names[at], field.type) for at, field in enumerate(schema)])
            scan = Scan((), written, self._storage.settings.resolved())
            for file in one.written.files:
                place = join(one.task.staging.folder, file.path)
                for batch in scan.read(ScanFile(place, dict(file.partition))):
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _fits(task: RowsTask, wanted: RowsTask) -> bool:
    if task.staging is None or wanted.staging is None:
        return False
    return (
        task.staging.schema.equals(wanted.staging.schema, check_metadata=True)
        and task.staging.partition_by == wanted.staging.partition_by
        and task.columns == wanted.columns
        and task.slice == wanted.slice
    )


def _incoming(schema_json: str) -> pa.Schema:
    return to_arrow_schema(from_spark_json(schema_json))
