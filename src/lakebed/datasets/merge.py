"""The merge entry points of the specifications, thin over `lakebed.table.merge`."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from lakebed.engines.duckdb.merge import DuckDBMerge
from lakebed.engines.duckdb.version import Version, detect_version, supports_merge
from lakebed.merge_core.result import MergeResult, MergeStats, compute_merge_stats
from lakebed.merge_core.spec import MergeSpec, MergeStrategy, Missing, require_flag
from lakebed.storage import Storage, absolute
from lakebed.table.merge import merge
from lakebed.targets.parquet.journal import Journal
from lakebed.targets.parquet.record import Delete, Put


class DuckDBDatasetIO:
    """Merges into Parquet datasets with DuckDB, on a connection of the caller's or one of its own."""

    def __init__(self, connection: duckdb.DuckDBPyConnection | None = None, *, storage: Storage | None = None) -> None:
        self._connection = connection
        self._storage = storage

    def merge(
        self,
        data: pa.Table | str | os.PathLike[str],
        path: str | os.PathLike[str],
        strategy: MergeStrategy = "upsert",
        key_columns: Sequence[str] | str = (),
        *,
        use_merge: bool | None = None,
        schema_evolution: bool = True,
        missing: Missing = "keep",
        dedup_order_by: Sequence[str] | str | None = None,
        partition_columns: Sequence[str] | str | None = None,
    ) -> MergeResult:
        """Merges a table or a path into the dataset, with native MERGE where this DuckDB has it."""
        flag = require_flag(use_merge)
        return merge(
            data,
            path,
            keys=key_columns,
            strategy=strategy,
            engine=DuckDBMerge(use_merge=flag, connection=self._connection),
            use_merge=flag,
            schema_evolution=schema_evolution,
            missing=missing,
            dedup_order_by=dedup_order_by,
            partition_by=partition_columns,
            storage=self._storage,
        )

    def get_duckdb_version(self) -> Version:
        """(major, minor, patch), or (0, 0, 0) where DuckDB does not tell."""
        if self._connection is not None:
            return detect_version(self._connection)
        with duckdb.connect() as connection:
            return detect_version(connection)

    def supports_merge(self) -> bool:
        """Whether this DuckDB has MERGE, which came with 1.4.0."""
        return supports_merge(self.get_duckdb_version())


class DuckDBParquetHandler:
    """The older name of the same merge; it returns the specification's four counts."""

    def __init__(self, connection: duckdb.DuckDBPyConnection | None = None, *, storage: Storage | None = None) -> None:
        self._io = DuckDBDatasetIO(connection, storage=storage)

    def merge_parquet_dataset(
        self,
        source: pa.Table | str | os.PathLike[str],
        target_path: str | os.PathLike[str],
        key_columns: Sequence[str] | str,
        strategy: MergeStrategy = "upsert",
        *,
        dedup_order_by: Sequence[str] | str | None = None,
        use_merge: bool | None = None,
    ) -> MergeStats:
        """Merges a table or a path into a Parquet dataset."""
        result = self._io.merge(
            source, target_path, strategy, key_columns, use_merge=use_merge, dedup_order_by=dedup_order_by
        )
        return _stats(result, strategy, key_columns)


def merge_parquet_dataset_pyarrow(
    source: pa.Table | str | os.PathLike[str],
    target_path: str | os.PathLike[str],
    key_columns: Sequence[str] | str,
    strategy: MergeStrategy = "upsert",
    *,
    dedup_order_by: Sequence[str] | str | None = None,
    storage: Storage | None = None,
) -> MergeStats:
    """Merges a table or a path into a Parquet dataset with PyArrow, in batches."""
    result = merge(
        source,
        target_path,
        keys=key_columns,
        strategy=strategy,
        engine="arrow",
        dedup_order_by=dedup_order_by,
        storage=storage,
    )
    return _stats(result, strategy, key_columns)


class IncrementalFileManager:
    """Replaces files of a dataset together: a thin face of the journal, which survives a crash at any step."""

    def __init__(self, dataset: str | os.PathLike[str], storage: Storage | None = None) -> None:
        self._storage = storage or Storage()
        self._root = absolute(os.fspath(dataset))
        self._journal = Journal(self._root, self._storage)
        self._staging: str | None = None

    def create_staging_directory(self) -> str:
        """A folder beside the dataset to write new files into; the same one until they are replaced or cleaned up."""
        if self._staging is None:
            self._staging = self._journal.begin()
        return self._journal.staging(self._staging)

    def atomic_replace_files(self, staging_files: Sequence[str], original_files: Sequence[str]) -> None:
        """Puts each staged file in the place of the original beside it, all of them or none.

        Further originals are removed in the same commit. Staged files from elsewhere are copied into the staging first.
        """
        if len(staging_files) > len(original_files):
            raise ValueError(
                f"{len(staging_files)} staged files for {len(original_files)} originals: name the place of each"
            )
        folder = self.create_staging_directory()
        assert self._staging is not None
        puts = []
        for number, (staged, original) in enumerate(zip(staging_files, original_files, strict=False)):
            name = self._staged_name(staged, folder, number)
            puts.append(Put(name, self._inside(original), self._storage.head(f"{folder}/{name}").size_bytes))
        deletes = [
            Delete(self._inside(original), self._storage.head(absolute(original)).size_bytes)
            for original in original_files[len(staging_files) :]
        ]
        self._journal.commit(self._staging, puts, deletes, verify=lambda: None)
        self._staging = None

    def cleanup_staging_files(self) -> None:
        """Removes what was staged and not committed; nothing staged is fine."""
        if self._staging is not None:
            self._journal.abandon(self._staging)
            self._staging = None

    def _staged_name(self, staged: str, folder: str, number: int) -> str:
        uri = absolute(staged)
        if uri.startswith(folder + "/"):
            return uri.removeprefix(folder + "/")
        name = f"{number:05d}-{Path(uri).name}"
        shutil.copyfile(uri, f"{folder}/{name}") if "://" not in uri else self._storage.copy(uri, f"{folder}/{name}")
        return name

    def _inside(self, original: str) -> str:
        uri = absolute(original)
        if not uri.startswith(self._root + "/"):
            raise ValueError(f"{original} does not lie in the dataset {self._root}")
        return uri.removeprefix(self._root + "/")


def _stats(result: MergeResult, strategy: MergeStrategy, key_columns: Sequence[str] | str) -> MergeStats:
    spec = MergeSpec.of(keys=key_columns, strategy=strategy)
    return compute_merge_stats(
        strategy=spec.strategy,
        target_before=result.before,
        target_after=result.total,
        inserted_rows=result.inserted,
        updated_rows=result.updated,
        deleted_rows=result.deleted,
    )
