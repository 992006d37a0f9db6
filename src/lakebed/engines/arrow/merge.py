"""Merges with PyArrow: keys are looked up in vectorised batches, and files rewritten in a thread for each core.

Memory is bounded by the batches in flight and the source's keys, not by the target.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pyarrow as pa

from lakebed.engines.protocols.merge import CheckedSource, Matches, MergeJob, MergeSource
from lakebed.engines.shared.checked import Checked, check, unmatched
from lakebed.engines.shared.sources import opened
from lakebed.engines.shared.write_behind import WriteBehind
from lakebed.errors import DatasetMergeError
from lakebed.kernels import merge as kernel
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, MergeCounts, Merged, Staging, WrittenFile
from lakebed.schema.arrow import to_arrow_schema

THREADS = min(8, os.cpu_count() or 1)


class ArrowMerge:
    """The Arrow engine's merge."""

    name = "arrow"

    @contextmanager
    def open(self, source: object, storage: StorageSettings) -> Iterator[MergeSource]:
        with opened(source, storage) as table:
            yield ArrowSource(table, storage)


class ArrowSource:
    """A source as an Arrow table, mapped from disk where the caller did not already hold it in memory."""

    def __init__(self, table: pa.Table, storage: StorageSettings) -> None:
        self._table = table
        self._storage = storage
        self._checked: Checked | None = None
        self._matched: dict[str, kernel.Matched] = {}

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def check(self, unified: Unified) -> CheckedSource:
        self._checked = check(self._table, unified)
        return CheckedSource(self._checked.table.num_rows, self._checked.keys)

    def match(self, unified: Unified, files: Sequence[DataFile], *, in_path: Sequence[str]) -> Matches:
        checked = self._known()
        with failing(unified.spec):
            found = dict(
                zip(
                    (file.uri for file in files),
                    kernel.match(files, checked.key_schema, checked.index, self._storage, in_path=in_path),
                    strict=True,
                )
            )
        nulls = {name: sum(one.nulls[place] for one in found.values()) for place, name in enumerate(unified.spec.keys)}
        self._matched = {uri: one for uri, one in found.items() if len(one.rows)}
        inserted = len(unmatched(checked.index.distinct, [one.positions for one in self._matched.values()]))
        return Matches(
            {uri: len(one.rows) for uri, one in self._matched.items()},
            {name: count for name, count in nulls.items() if count},
            checked.index.distinct - inserted,
        )

    def write(self, job: MergeJob) -> Merged:
        checked, plan = self._known(), job.plan
        rules = rules_of(job)
        with failing(plan.spec), WriteBehind(job.staging.folder) as disk, ThreadPoolExecutor(THREADS) as pool:
            codec = kernel.codec_of(plan.rewrite[0].uri if plan.rewrite else _any(plan.keep), self._storage)
            write = partial(
                kernel.write_rows, rules=rules, folder=job.staging.folder, storage=self._storage, codec=codec
            )
            positions = None
            inserting = None
            if plan.expected.inserted:
                if not plan.spec.effects.delete_matched:
                    positions = unmatched(checked.table.num_rows, [one.positions for one in self._matched.values()])
                inserting = pool.submit(write, checked.table, positions, name="inserted")
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
                written += write(pa.concat_tables(moved), None, name="moved")
            arrived = inserting.result() if inserting is not None else []
            written += arrived
        return Merged(tuple(written), counts + MergeCounts(inserted=sum(one.rows for one in arrived)))

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        rules = kernel.Rules(self._known().table.schema, self._known().table.schema)
        written = kernel.write_rows(
            self._known().table, None, rules, folder=staging.folder, name="source", storage=self._storage
        )
        return tuple(written)

    def _rewrite(self, job: MergeJob, rules: kernel.Rules, number: int, pack: tuple[DataFile, ...]) -> kernel.Rewritten:
        return kernel.rewrite(
            [(file, self._matched.get(file.uri)) for file in pack],
            self._known().table,
            rules,
            folder=job.staging.folder,
            name=f"merged-{number:05d}.parquet",
            storage=self._storage,
        )

    def _known(self) -> Checked:
        assert self._checked is not None, "check comes before match and write"
        return self._checked


def rules_of(job: MergeJob) -> kernel.Rules:
    """The plan as the kernel takes it."""
    plan = job.plan
    does = plan.spec.effects
    padded = frozenset(source.column for source in plan.evolution.sources if source.incoming is None)
    return kernel.Rules(
        schema=pa.schema([field.with_nullable(True) for field in to_arrow_schema(plan.evolution.final)]),
        physical=job.physical,
        emptied=frozenset() if plan.spec.keeps_missing else padded,
        update_matched=does.update_matched,
        delete_matched=does.delete_matched,
        delete_unmatched=does.delete_unmatched,
        partition_by=job.staging.partition_by,
        in_path=job.in_path,
    )


@contextmanager
def failing(spec: MergeSpec) -> Iterator[None]:
    """Wraps Arrow's own errors, with what was being merged."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DatasetMergeError(
            f"PyArrow failed during the merge: {error}",
            kind="ENGINE_FAILED",
            remedy="The target is as it was.",
            strategy=spec.strategy,
            key_columns=spec.keys,
            operation="merge",
        ) from error


def _any(files: Sequence[DataFile]) -> str | None:
    return files[0].uri if files else None
