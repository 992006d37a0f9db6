"""Merges on Spark, classic or Connect: one job validates and looks keys up, one rewrites and counts.

The source is staged once, as Parquet that workers reach. Where its keys are few, every worker holds them and each task
rewrites files on its own, with the Arrow engine's kernels: no row of the target enters the JVM. Where they are many,
rows are shuffled to the files they change (`shuffle.py`). A source of very few rows into small files is merged in this
process, by the same kernels: jobs would take longer than the merge. No other source is ever collected.
"""

import logging
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.config import Settings
from lakebed.engines.protocols.engine import EngineOptions
from lakebed.engines.protocols.merge import CheckedSource, FileLayout, MergeInput, MergeJob, MergeSource
from lakebed.engines.shared.arrow_source import ArrowSource
from lakebed.engines.shared.checked import Checked, unmatched
from lakebed.engines.shared.checked import check as check_table
from lakebed.engines.shared.failures import arrow_failures, engine_failures
from lakebed.engines.shared.results import for_workers
from lakebed.engines.shared.rules import codec_for, rules_of
from lakebed.engines.shared.sources import is_dataframe, opened
from lakebed.engines.spark.frame_source import few_rows, schema_of, staged_frame
from lakebed.engines.spark.session import Session, open_session, require_shared
from lakebed.engines.spark.shuffle import Shuffle
from lakebed.engines.spark.tasks import run_tasks
from lakebed.errors import EngineError
from lakebed.kernels.columns import top_level_ids, with_ids
from lakebed.kernels.keys import KeyIndex, repeated
from lakebed.kernels.merge import Rules
from lakebed.kernels.merge_inserts import write_rows
from lakebed.kernels.merge_tasks import (
    GroupMatches,
    MatchTasks,
    StagedSource,
    WriteTasks,
)
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.merge_core import refusals
from lakebed.merge_core.plan import Matches, MergePlan
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, MergeCounts, Merged, Staging, WrittenFile
from lakebed.schema.arrow import to_arrow_field
from lakebed.storage import Storage, join

log = logging.getLogger(__name__)

# Sources of at most so many rows, into candidate files of at most so many bytes, are merged in this process.
DRIVER_ROWS = 10_000
DRIVER_BYTES = 64 * 1024 * 1024
# Up to here every worker holds the keys; beyond it rows are shuffled to the files they change.
BROADCAST_ROWS = 2_000_000
# A task reads the keys of that many rows or more: starting one costs as much as looking a million keys up.
MATCH_ROWS = 1_048_576
MATCH_TASKS = 1024
INSERT_ROWS = 1_000_000


Result = TypeVar("Result")


class SparkMerge:
    """The Spark engine's merge, on the DataFrame's session, the caller's, or one of its own."""

    name = "spark"

    def __init__(
        self,
        session: SparkSession | None = None,
        *,
        broadcast_rows: int = BROADCAST_ROWS,
        driver_rows: int = DRIVER_ROWS,
    ) -> None:
        self._session = session
        self._broadcast_rows = broadcast_rows
        self._driver_rows = driver_rows

    @classmethod
    def of(cls, options: EngineOptions) -> "SparkMerge":
        return cls(options.spark)

    @contextmanager
    def open(self, source: MergeInput, storage: StorageSettings, settings: Settings) -> Iterator[MergeSource]:
        given = source.sparkSession if is_dataframe(source) else self._session
        with ExitStack() as stack:
            session = stack.enter_context(open_session(settings, spark=given))
            folder = stack.enter_context(_work_folder(session, settings, storage))
            if is_dataframe(source):
                yield FrameSource(source, session, folder, storage, self._broadcast_rows, self._driver_rows)
            else:
                table = stack.enter_context(opened(source, storage))
                yield TableSource(table, session, folder, storage, self._driver_rows)


class SparkSource:
    """What the two kinds of source share: keys are looked up and files rewritten by tasks."""

    def __init__(self, session: Session, folder: str, storage: StorageSettings) -> None:
        self._session = session
        self._folder = folder
        self._storage = storage
        self._staged: StagedSource | None = None
        self._index: KeyIndex | None = None
        self._matched: list[pa.Array] = []
        self._here: ArrowSource | None = None  # where the merge runs in this process

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        if self._runs_here(files):
            assert self._here is not None
            log.info(
                "%d source rows and %d small files that may hold them: merging in this process, without a Spark job",
                self._here.checked.table.num_rows,
                len(files),
            )
            return self._here.match(unified, files, layout=layout)
        staged, index = self._known()
        self._matched = []
        if not files:
            return Matches()
        for file in files:
            require_shared(file.uri, self._session)
        groups = tuple(tuple(for_workers(file) for file in group) for group in _groups(files))
        tasks = MatchTasks(staged, with_ids(_key_schema(staged), layout.field_ids), groups, layout.in_path)
        doing = f"look keys up in {len(files)} files"
        found = _checked(self._run(tasks, len(groups), unified.spec, doing=doing), GroupMatches, unified.spec)
        each = [file for group in found for file in group.files]
        nulls = {name: sum(one.nulls[place] for one in each) for place, name in enumerate(unified.spec.keys)}
        self._matched = [group.positions for group in found if len(group.positions)]
        new = len(unmatched(index.distinct, self._matched))
        return Matches(
            {one.uri: one.rows for one in each if one.rows},
            {name: count for name, count in nulls.items() if count},
            index.distinct - new,
        )

    def write(self, job: MergeJob) -> Merged:
        if self._runs_here(job.plan.rewrite):
            assert self._here is not None
            return self._here.write(job)
        staged, index = self._known()
        plan = job.plan
        require_shared(job.staging.folder, self._session)
        inserts: list[pa.Array] = []
        if plan.expected.inserted:
            chosen = (
                unmatched(index.rows, []) if plan.spec.effects.delete_matched else unmatched(index.rows, self._matched)
            )
            inserts = [chosen.slice(start, INSERT_ROWS) for start in range(0, len(chosen), INSERT_ROWS)]
        with arrow_failures(plan.spec):
            codec = codec_for(plan, self._storage)
        tasks = WriteTasks(
            staged,
            with_ids(_key_schema(staged), top_level_ids(job.physical)),
            tuple(tuple(for_workers(file) for file in pack) for pack in plan.packs),
            tuple(inserts),
            rules_of(job),
            job.staging.folder,
            codec,
        )
        doing = f"rewrite {len(plan.rewrite)} files, insert {plan.expected.inserted} rows"
        results = self._run(tasks, len(plan.packs) + len(inserts), plan.spec, doing=doing)
        done = _checked(results, Merged, plan.spec)
        return _merged(done, plan)

    def write_source(self, staging: Staging) -> tuple[WrittenFile, ...]:
        """Copies the staged parts, which already are what a target that merges rows wants."""
        if self._here is not None:
            return self._here.write_source(staging)
        staged = self._staged
        assert staged is not None, "check comes before write_source"
        files = Storage(self._storage)
        written = []
        for number, uri in enumerate(staged.parts):
            name = f"source-{number:05d}.parquet"
            copied = files.copy(uri, join(staging.folder, name))
            part = StagedSource((uri,), staged.schema, staged.keys, staged.storage)
            written.append(WrittenFile(name, part.read(staged.keys[:1]).num_rows, copied.size_bytes))
        return tuple(written)

    def _runs_here(self, files: Sequence[DataFile]) -> bool:
        """Whether these files are for this process; where they are too large, the source goes to the workers."""
        if self._here is None:
            return False
        if sum(file.size_bytes for file in files) <= DRIVER_BYTES:
            return True
        self._matched = self._here.matched_positions
        self._stage(self._here.checked)
        self._here = None
        return False

    def _stage(self, checked: Checked) -> None:
        """Writes the rows that this process holds to where workers reach them."""
        rules = Rules(checked.table.schema, checked.table.schema)
        written = write_rows(
            checked.rows,
            None,
            rules,
            folder=self._folder,
            name=uuid4().hex,
            storage=self._storage,
            codec="lz4",
        )
        parts = tuple(join(self._folder, one.path) for one in written)
        self._staged = StagedSource(parts, checked.table.schema, checked.spec.keys, self._storage)
        index = checked.index
        assert isinstance(index, KeyIndex), "only what may spill has its keys in shares"
        self._index = index

    def _check_here(self, table: pa.Table, unified: Unified) -> CheckedSource:
        self._here = ArrowSource(table, self._storage)
        return self._here.check(unified)

    def _run(self, tasks: Callable[[int], object], count: int, spec: MergeSpec, *, doing: str) -> list[object]:
        with engine_failures(spec, EngineError, what="the merge failed"):
            return run_tasks(self._session.spark, tasks, count, doing=doing)

    def _known(self) -> tuple[StagedSource, KeyIndex]:
        assert self._staged is not None, "check comes before match and write"
        assert self._index is not None
        return self._staged, self._index


class TableSource(SparkSource):
    """A source that the driver holds: checked there, then staged for the workers."""

    def __init__(
        self, table: pa.Table, session: Session, folder: str, storage: StorageSettings, driver_rows: int
    ) -> None:
        super().__init__(session, folder, storage)
        self._table = table
        self._driver_rows = driver_rows

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def check(self, unified: Unified) -> CheckedSource:
        if self._table.num_rows <= self._driver_rows:
            return self._check_here(self._table, unified)
        checked = check_table(self._table, unified)
        self._stage(checked)
        return CheckedSource(
            checked.table.num_rows, checked.keys, index=checked.index, distributed=True, matched_by_arrow=True
        )


class FrameSource(SparkSource):
    """A Spark DataFrame: its first rows tell whether they are all; if not, the job that stages it computes it."""

    def __init__(
        self,
        frame: DataFrame,
        session: Session,
        folder: str,
        storage: StorageSettings,
        broadcast_rows: int,
        driver_rows: int,
    ) -> None:
        super().__init__(session, folder, storage)
        self._frame = frame
        self._broadcast_rows = broadcast_rows
        self._driver_rows = driver_rows
        self._shuffle: Shuffle | None = None
        self._candidates: tuple[DataFile, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        return schema_of(self._frame)

    def check(self, unified: Unified) -> CheckedSource:
        spec, final = unified.spec, unified.evolution.final
        if self._driver_rows:
            few = few_rows(self._frame, unified, self._driver_rows)
            if few is not None:
                return self._check_here(few, unified)
        schema = pa.schema([to_arrow_field(final[name]).with_nullable(True) for name in unified.delivered])
        parts = staged_frame(self._frame, unified, schema, join(self._folder, uuid4().hex), self._storage)
        for place, name in enumerate(spec.keys):
            if count := sum(part.nulls[place] for part in parts):
                raise refusals.null_key(spec, side="source", column=name, count=count)
        uris = tuple(part.uri for part in parts)
        self._staged = StagedSource(uris, schema, spec.keys, self._storage)
        self._shuffle, self._candidates = None, ()
        rows = sum(part.rows for part in parts)
        if rows > self._broadcast_rows:
            self._shuffle = Shuffle(self._session.spark, self._staged, spec)
            keys, several, shown = self._shuffle.check()
            if several and not spec.keys_may_repeat:
                raise refusals.duplicate_keys(spec, count=several, keys=shown)
            return CheckedSource(rows, keys, only_extremes=True)
        keys = self._staged.read(spec.keys)
        self._index = KeyIndex([keys.column(name) for name in spec.keys])
        if not spec.keys_may_repeat and self._index.repeats:
            found = repeated(self._index)
            shown = [tuple(column[row].as_py() for column in keys.columns) for row in found.first_rows]
            raise refusals.duplicate_keys(spec, count=found.count, keys=shown)
        return CheckedSource(rows, keys, index=self._index, distributed=True, matched_by_arrow=True)

    def match(self, unified: Unified, files: Sequence[DataFile], *, layout: FileLayout) -> Matches:
        if self._shuffle is None:
            return super().match(unified, files, layout=layout)
        for file in files:
            require_shared(file.uri, self._session)
        self._candidates = tuple(files)
        if not files:
            return Matches()
        return self._shuffle.match([for_workers(file) for file in files], layout)

    def write(self, job: MergeJob) -> Merged:
        if self._shuffle is None:
            return super().write(job)
        assert self._staged is not None
        plan, rules = job.plan, rules_of(job)
        require_shared(job.staging.folder, self._session)
        with arrow_failures(plan.spec):
            codec = codec_for(plan, self._storage)
        changed = [pack for pack in plan.packs if any(plan.matched.get(file.uri) for file in pack)]
        if not (rules.update_matched or rules.delete_matched):
            changed = []
        files = list(
            {file.uri: file for file in (*self._candidates, *(one for pack in changed for one in pack))}.values()
        )
        numbers = {file.uri: number for number, file in enumerate(files)}
        results = self._shuffle.write(
            [for_workers(file) for file in files],
            [[numbers[file.uri] for file in pack] for pack in changed],
            rules,
            folder=job.staging.folder,
            codec=codec,
            inserts=plan.expected.inserted,
        )
        others = [pack for pack in plan.packs if pack not in changed]
        no_source = StagedSource((), self._staged.schema, self._staged.keys, self._staged.storage)
        untouched = WriteTasks(
            no_source,
            with_ids(_key_schema(no_source), top_level_ids(job.physical)),
            tuple(tuple(for_workers(file) for file in pack) for pack in others),
            (),
            rules,
            job.staging.folder,
            codec,
        )
        results += self._run(untouched, len(others), plan.spec, doing=f"rewrite {len(others)} packs of files")
        return _merged(_checked(results, Merged, plan.spec), plan)


@contextmanager
def _work_folder(session: Session, settings: Settings, storage: StorageSettings) -> Iterator[str]:
    """Where the source is staged: a temporary folder, or on a cluster one that its workers reach."""
    if session.local:
        with tempfile.TemporaryDirectory(prefix="lakebed-merge-") as folder:
            yield folder
        return
    folder = settings.new_work_folder("merge")
    require_shared(folder, session)
    files = Storage(storage)
    try:
        yield folder
    finally:
        files.delete(entry.uri for entry in list(files.list(folder)))


def _merged(done: Sequence[Merged], plan: MergePlan) -> Merged:
    dropped = MergeCounts(deleted=sum(file.rows for file in plan.drop))
    return Merged(tuple(file for one in done for file in one.files), sum((one.counts for one in done), start=dropped))


def _groups(files: Sequence[DataFile]) -> list[list[DataFile]]:
    """The files in the portions that tasks take: of enough rows each, and not too many of them."""
    enough = max(MATCH_ROWS, sum(file.rows for file in files) // MATCH_TASKS)
    groups: list[list[DataFile]] = []
    rows = enough
    for file in files:
        if rows >= enough:
            groups.append([])
            rows = 0
        groups[-1].append(file)
        rows += file.rows
    return groups


def _key_schema(staged: StagedSource) -> pa.Schema:
    return pa.schema([staged.schema.field(name) for name in staged.keys])


def _checked(results: Sequence[object], kind: type[Result], spec: MergeSpec) -> list[Result]:
    """The results of all tasks, or the first error that one returned."""
    for result in results:
        if isinstance(result, EngineError):
            raise refusals.engine_failed(spec, result.message) from result
    found = [result for result in results if isinstance(result, kind)]
    if len(found) != len(results):
        raise EngineError(f"Spark returned results of {len(found)} tasks instead of {len(results)}")
    return found
