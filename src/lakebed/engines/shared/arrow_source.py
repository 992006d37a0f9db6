"""A source of a merge as an Arrow table: keys are looked up in vectorised batches, files rewritten in threads.

Memory is bounded by the batches in flight and the source's keys, not by the target; the keys of a large source lie on
disk.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pyarrow as pa

from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeJob
from lakebed.engines.shared.checked import Checked, check
from lakebed.engines.shared.failures import arrow_failures
from lakebed.engines.shared.large import Spill
from lakebed.engines.shared.rules import codec_for, rules_of
from lakebed.engines.shared.write_behind import WriteBehind
from lakebed.kernels import merge as kernel
from lakebed.kernels.columns import with_ids
from lakebed.kernels.keys import chosen_rows
from lakebed.kernels.mapped import free_memory
from lakebed.kernels.merge_inserts import write_rows
from lakebed.kernels.source_rows import SourceRows
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.plan import Matches
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, MergeCounts, Merged, Staging, WrittenFile

THREADS = min(8, os.cpu_count() or 1)
# Matched rows of one file that a large source has on disk instead of in memory.
PUT_DOWN_ROWS = 65_536


class ArrowSource:
    """Merges the rows of a table, which is mapped from disk where the caller did not already hold it in memory."""

    def __init__(self, table: pa.Table, storage: StorageSettings, spill: Spill | None = None) -> None:
        self._table = table
        self._storage = storage
        self._spill = spill
        self._checked: Checked | None = None
        self._matched: dict[str, kernel.Matched] = {}

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    @property
    def checked(self) -> Checked:
        """The source as `check` left it."""
        assert self._checked is not None, "check comes before match and write"
        return self._checked

    @property
    def matched_positions(self) -> list[pa.Array]:
        """The source rows that `match` found in the table, file by file."""
        return [one.positions for one in self._matched.values()]

    def check(self, unified: Unified) -> CheckedSource:
        checked = self._checked = check(self._table, unified, self._spill)
        return CheckedSource(
            checked.table.num_rows,
            checked.keys,
            only_extremes=checked.is_large,
            index=checked.index,
            matched_by_arrow=True,
        )

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        checked = self.checked
        self._matched = {}
        if not files:
            return Matches()
        keys = with_ids(checked.key_schema, layout.field_ids)
        with arrow_failures(unified.spec):
            matched = kernel.match(files, keys, checked.index, self._storage, in_path=layout.in_path)
            if checked.is_large:
                matched = map(self._put_down, matched)
            found = dict(zip((file.uri for file in files), matched, strict=True))
        nulls = {name: sum(one.nulls[place] for one in found.values()) for place, name in enumerate(unified.spec.keys)}
        self._matched = {uri: one for uri, one in found.items() if len(one.rows)}
        distinct = chosen_rows(checked.table.num_rows, self.matched_positions).true_count
        if checked.is_large:
            free_memory()
        return Matches(
            {uri: len(one.rows) for uri, one in self._matched.items()},
            {name: count for name, count in nulls.items() if count},
            distinct,
        )

    def _put_down(self, matched: kernel.Matched) -> kernel.Matched:
        """The same on disk, where it is much."""
        if self._spill is None or len(matched.rows) < PUT_DOWN_ROWS:
            return matched
        table = pa.table([matched.rows, matched.positions], names=["rows", "positions"])
        (batch,) = self._spill.put_down(table.schema, table.to_batches(), rows=table.num_rows).to_batches()
        return replace(matched, rows=batch.column(0), positions=batch.column(1))

    def write(self, job: MergeJob) -> Merged:
        checked, plan = self.checked, job.plan
        rules = rules_of(job)
        with arrow_failures(plan.spec), WriteBehind(job.staging.folder) as disk, ThreadPoolExecutor(THREADS) as pool:
            codec = codec_for(plan, self._storage)
            write = partial(write_rows, rules=rules, folder=job.staging.folder, storage=self._storage, codec=codec)
            inserting = None
            if plan.expected.inserted:
                matched = None
                if not plan.spec.effects.delete_matched and self._matched:
                    matched = chosen_rows(checked.table.num_rows, self.matched_positions)
                    free_memory()
                inserting = pool.submit(write, checked.rows, None, name="inserted", but_for=matched)
            written: list[WrittenFile] = []
            moved: list[pa.Table] = []
            counts = MergeCounts(deleted=sum(file.rows for file in plan.drop))
            for one in pool.map(lambda numbered: self._rewrite(job, rules, *numbered), enumerate(plan.packs)):
                counts += one.counts
                if one.moved is not None:
                    moved.append(one.moved)
                if one.written is not None:
                    written.append(one.written)
                    disk.add(one.written)
            if moved:
                written += write(SourceRows(pa.concat_tables(moved)), None, name="moved")
            arrived = inserting.result() if inserting is not None else []
            written += arrived
        if checked.is_large:
            free_memory()
        return Merged(tuple(written), counts + MergeCounts(inserted=sum(one.rows for one in arrived)))

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        rows = self.checked.rows
        rules = kernel.Rules(rows.schema, rows.schema)
        written = write_rows(rows, None, rules, folder=staging.folder, name="source", storage=self._storage)
        return tuple(written)

    def _rewrite(self, job: MergeJob, rules: kernel.Rules, number: int, pack: tuple[DataFile, ...]) -> kernel.Rewritten:
        return kernel.rewrite(
            [(file, self._matched.get(file.uri)) for file in pack],
            self.checked.rows,
            rules,
            folder=job.staging.folder,
            name=f"merged-{number:05d}.parquet",
            storage=self._storage,
        )
