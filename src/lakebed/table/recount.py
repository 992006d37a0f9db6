"""The second count of a merge: how many rows have a key of the source, established by other means than the engine's.

An engine says which rows it matched and what it wrote. Its counts agree with each other even where it overlooks rows,
as DuckDB did when a key column was called `filename`. So the files are asked as well, by pyarrow alone: those that were
looked into before anything is written, and those that were written before anything is committed.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeJob
from lakebed.engines.shared.failures import arrow_failures
from lakebed.errors import DatasetMergeError
from lakebed.kernels.columns import top_level_ids, with_ids
from lakebed.kernels.keys import KeyIndex, KeyLookup
from lakebed.kernels.merge import match, read_keys
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core import refusals
from lakebed.merge_core.plan import Matches
from lakebed.merge_core.spec import MergeSpec
from lakebed.model import DataFile, Merged
from lakebed.storage import join

THREADS = min(8, os.cpu_count() or 1)
# Of an engine on other machines, files with more rows than these are not read again on this one.
MOST_ROWS_OF_OTHERS = 5_000_000


@dataclass(frozen=True)
class Recount:
    """The keys of a checked source, to be looked up again."""

    index: KeyLookup
    schema: pa.Schema
    storage: StorageSettings
    most_rows: int | None
    counts_matches: bool = True

    @classmethod
    def of(cls, source: CheckedSource, storage: StorageSettings) -> "Recount | None":
        """None where the source is too large to hand over its keys."""
        if source.only_extremes and source.index is None:
            return None
        index = source.index or KeyIndex(source.keys.columns)
        most_rows = MOST_ROWS_OF_OTHERS if source.distributed else None
        return cls(index, source.keys.schema, storage, most_rows, not source.matched_by_arrow)

    def check_matched(
        self, spec: MergeSpec, files: Sequence[DataFile], matches: Matches, *, layout: FileLayout
    ) -> None:
        """Raises where a file holds more or fewer rows with a key of the source than the engine found there."""
        if not self.counts_matches:
            return
        found = self._look(spec, files, layout)
        for file, rows in zip(files, found, strict=False):
            if len(rows) != (said := matches.rows.get(file.uri, 0)):
                raise _disagreement(
                    spec, f"the engine matched {said} rows of {file.uri}, and {len(rows)} have a key of the source"
                )
        if found and (keys := pc.count_distinct(pa.chunked_array(found)).as_py()) != matches.source_rows:
            raise _disagreement(
                spec, f"the engine found {matches.source_rows} keys of the source in the table, and {keys} are there"
            )

    def check_written(self, job: MergeJob, merged: Merged) -> None:
        """Raises where the new files do not hold every updated, kept and inserted row under a key of the source."""
        plan, folder = job.plan, job.staging.folder
        files = [DataFile(join(folder, file.path), file.rows, file.size_bytes, file.partition) for file in merged.files]
        stayed = 0 if plan.spec.effects.delete_matched else sum(plan.matched.get(file.uri, 0) for file in plan.rewrite)
        rows = self._count(plan.spec, files, FileLayout(job.in_path, top_level_ids(job.physical)))
        if rows is not None and rows != stayed + merged.counts.inserted:
            raise _disagreement(
                plan.spec,
                f"{merged.counts.inserted} rows were inserted and {stayed} matched ones rewritten, and {rows} rows of "
                "the new files have a key of the source",
            )

    def _look(self, spec: MergeSpec, files: Sequence[DataFile], layout: FileLayout) -> list[pa.Array]:
        """For each file the keys of its rows that the source has, by number; nothing where it would be too much."""
        shares = self._shares(files)
        with arrow_failures(spec), ThreadPoolExecutor(THREADS) as pool:
            done = list(pool.map(partial(self._look_into, layout), shares))
        return [done[place % len(shares)][place // len(shares)] for place in range(len(files) if shares else 0)]

    def _count(self, spec: MergeSpec, files: Sequence[DataFile], layout: FileLayout) -> int | None:
        """How many rows of these files have a key of the source; None where it would be too much to read."""
        shares = self._shares(files)
        if not shares:
            return None
        with arrow_failures(spec), ThreadPoolExecutor(THREADS) as pool:
            return sum(pool.map(partial(self._count_in, layout), shares))

    def _shares(self, files: Sequence[DataFile]) -> list[Sequence[DataFile]]:
        """The files in as many shares as are looked into at a time; none where it would be too much."""
        rows = sum(file.rows for file in files)
        if not files or (self.most_rows is not None and rows > self.most_rows):
            return []
        # Each share hashes the source's keys again: no more of them than there are files of so many rows.
        worth = rows // max(1, self.index.rows) if isinstance(self.index, KeyIndex) else 1
        count = max(1, min(THREADS, len(files), worth))
        return [files[start::count] for start in range(count)]

    def _look_into(self, layout: FileLayout, files: Sequence[DataFile]) -> list[pa.Array]:
        keys = with_ids(self.schema, layout.field_ids)
        return [one.positions for one in match(files, keys, self.index, self.storage, in_path=layout.in_path)]

    def _count_in(self, layout: FileLayout, files: Sequence[DataFile]) -> int:
        keys = with_ids(self.schema, layout.field_ids)
        return self.index.count(read_keys(file, keys, self.storage, in_path=layout.in_path) for file in files)


def _disagreement(spec: MergeSpec, what: str) -> DatasetMergeError:
    return refusals.engine_failed(spec, f"two counts of the merge differ: {what}", remedy=refusals.NOTHING_COMMITTED)
