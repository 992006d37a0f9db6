"""`spark.read.format("lakebed")` and `df.write.format("lakebed")`: tables for SQL and notebooks, without jars.

Spark plans and commits in Python processes beside the driver, which have Lakebed. Workers may have pyarrow alone: what
they run of this module travels by value, and the kernels travel with it. So nothing of Lakebed is imported above.
"""

import json
import pickle
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table.source_plans import SourceOptions

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


class LakebedSource(DataSource):
    """The data source. Its path is the address of a table; `docs/spark.md` has the other options."""

    @classmethod
    def name(cls) -> str:
        return "lakebed"

    def schema(self) -> str:
        from lakebed.table.source_plans import table_ddl

        return table_ddl(self._options())

    def reader(self, schema: StructType) -> DataSourceReader:
        from pyspark.sql.pandas.types import to_arrow_schema

        from lakebed.table.source_plans import plan_read

        payload, parts = plan_read(self._options(), to_arrow_schema(schema))
        return TableReader(_kernels(), payload, parts)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return TableWriter(_kernels(), self._planned(schema, overwrite), dict(self.options), schema.json(), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        return StreamWriter(_kernels(), self._planned(schema, overwrite), dict(self.options), schema.json(), overwrite)

    def _planned(self, schema: StructType, overwrite: bool) -> bytes:
        from lakebed.table.source_plans import plan_parts

        options = self._options()
        return plan_parts(options, schema.json(), options.write_spec(overwrite=overwrite))

    def _options(self) -> "SourceOptions":
        from lakebed.table.source_plans import SourceOptions

        return SourceOptions.of(dict(self.options))


class TablePart(InputPartition):
    """What one task reads, pickled."""

    def __init__(self, content: bytes) -> None:
        super().__init__(None)
        self.content = content


class TableReader(DataSourceReader):
    """Reads a table as it stood when the query was planned."""

    def __init__(self, kernels: bytes, payload: bytes, parts: list[bytes]) -> None:
        self._kernels = kernels
        self._payload = payload
        self._parts = parts

    def partitions(self) -> list[InputPartition]:
        return [TablePart(one) for one in self._parts]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        if not isinstance(partition, TablePart):
            return  # Spark asks for one part even of a table without any.
        _provide(self._kernels)
        yield from pickle.loads(self._payload).read(pickle.loads(partition.content))


class PartMessage(WriterCommitMessage):
    """What one task wrote, or why it could not, pickled."""

    def __init__(self, content: bytes) -> None:
        self.content = content


class PartsWriter:
    """What batches and streams share: tasks write parts, the driver commits or removes them."""

    def __init__(
        self, kernels: bytes, payload: bytes, options: dict[str, str], schema_json: str, overwrite: bool
    ) -> None:
        self._kernels = kernels
        self._payload = payload
        self._given = options
        self._schema_json = schema_json
        self._overwrite = overwrite

    def _write(self, batches: Iterator["pa.RecordBatch"]) -> PartMessage:
        _provide(self._kernels)
        from lakebed.kernels.table_source import write_part

        return PartMessage(pickle.dumps(write_part(pickle.loads(self._payload), batches)))

    def _commit(self, messages: list[Any], batch: int | None = None) -> None:
        from lakebed.table.source_plans import SourceOptions, commit_parts

        options = SourceOptions.of(self._given)
        results = [pickle.loads(one.content) for one in messages if one is not None]
        spec = options.write_spec(overwrite=self._overwrite, batch=batch)
        commit_parts(options, self._schema_json, spec, results)

    def _abort(self, messages: list[Any]) -> None:
        from lakebed.kernels.table_source import PartWritten
        from lakebed.storage import Storage
        from lakebed.table.source_plans import SourceOptions, remove_parts

        results = [pickle.loads(one.content) for one in messages if one is not None]
        storage = Storage(SourceOptions.of(self._given).settings.storage)
        remove_parts([one for one in results if isinstance(one, PartWritten)], storage)


class TableWriter(PartsWriter, DataSourceArrowWriter):
    """Writes a DataFrame."""

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> WriterCommitMessage:
        return self._write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._commit(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._abort(messages)


# Spark 4.0 hands a stream's rows over one by one.
_StreamBase: Any = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
_ROWS_AT_ONCE = 10_000


class StreamWriter(PartsWriter, _StreamBase):  # type: ignore[misc]
    """Writes the batches of a stream, each under its number: one that Spark repeats changes nothing."""

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        takes_batches = hasattr(datasource, "DataSourceStreamArrowWriter")
        return self._write(iterator if takes_batches else _in_batches(iterator, self._schema_json))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._commit(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        self._abort(messages)


def _in_batches(rows: Iterator[Any], schema_json: str) -> Iterator["pa.RecordBatch"]:
    from itertools import islice

    import pyarrow as pa
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(StructType.fromJson(json.loads(schema_json)))
    while some := [row.asDict(recursive=True) for row in islice(rows, _ROWS_AT_ONCE)]:
        yield pa.RecordBatch.from_pylist(some, schema=schema)


def _kernels() -> bytes:
    from lakebed.engines.spark.shipping import kernels_zip

    return kernels_zip()


def _provide(kernels: bytes) -> None:
    """Makes the kernels importable on a worker that has pyarrow alone."""
    try:
        import lakebed.kernels.table_source  # noqa: F401
    except ImportError:
        folder = Path(tempfile.mkdtemp(prefix="lakebed-kernels-"))
        with zipfile.ZipFile(BytesIO(kernels)) as archive:
            archive.extractall(folder)
        sys.path.insert(0, str(folder))
