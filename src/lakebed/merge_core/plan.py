"""The merge plan: which files a merge rewrites, what it expects to do to rows, what it adds to the schema."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lakebed.errors import EngineError
from lakebed.merge_core.prune import worth_repacking
from lakebed.merge_core.spec import MergeSpec
from lakebed.merge_core.validate import Unified
from lakebed.model import DataFile, MergeCounts
from lakebed.schema.evolve import EvolutionPlan


@dataclass(frozen=True)
class Matches:
    """Matched rows by file, NULL keys by column, and how many source rows have a key that the target has."""

    rows: Mapping[str, int] = field(default_factory=dict)
    nulls: Mapping[str, int] = field(default_factory=dict)
    source_rows: int = 0


@dataclass(frozen=True)
class MergePlan:
    """Everything a merge will do, decided before the target is touched; engines interpret it and decide nothing.

    `expected` is exact, because keys were matched before. `matched` has the number of matched rows of every file that
    has any. `rewrite` are the files that will be replaced, `drop` those of which nothing remains, `keep` those that
    stay as they are, byte for byte. Each of `packs` becomes one new file: a single file of `rewrite`, or several small
    ones of one partition where nearly all are rewritten.
    """

    spec: MergeSpec
    evolution: EvolutionPlan
    before: int
    source_rows: int
    expected: MergeCounts
    rewrite: tuple[DataFile, ...] = ()
    drop: tuple[DataFile, ...] = ()
    keep: tuple[DataFile, ...] = ()
    packs: tuple[tuple[DataFile, ...], ...] = ()
    matched: Mapping[str, int] = field(default_factory=dict)
    scanned: int = 0

    @property
    def repack(self) -> bool:
        return len(self.packs) < len(self.rewrite)

    @property
    def total(self) -> int:
        return self.before + self.expected.inserted - self.expected.deleted

    @property
    def added_columns(self) -> tuple[str, ...]:
        """Columns, and fields of structs as dotted names, that the table gains; none where no row changes."""
        if self.changes_nothing or self.evolution.creates:
            return ()
        return tuple(".".join(add.path) for add in self.evolution.adds)

    @property
    def changes_nothing(self) -> bool:
        """A merge that changes no row changes no schema and commits nothing."""
        return not self.expected

    def to_dict(self) -> dict[str, object]:
        return {
            "strategy": self.spec.strategy,
            "keys": list(self.spec.keys),
            "source_rows": self.source_rows,
            "expected": {
                "inserted": self.expected.inserted,
                "updated": self.expected.updated,
                "deleted": self.expected.deleted,
                "total": self.total,
            },
            "files": {
                "rewrite": [file.uri for file in self.rewrite],
                "drop": [file.uri for file in self.drop],
                "keep": len(self.keep),
                "scanned": self.scanned,
            },
            "repack": self.repack,
            "creates_table": self.evolution.creates and not self.changes_nothing,
            "added_columns": list(self.added_columns),
            "widened_columns": []
            if self.changes_nothing
            else [
                {"column": ".".join(step.path), "before": str(step.before), "after": str(step.after)}
                for step in self.evolution.widenings
            ],
        }

    def __str__(self) -> str:
        spec, expected = self.spec, self.expected
        lines = [f"{spec.strategy} of {self.source_rows} rows on {', '.join(spec.keys)}"]
        if self.changes_nothing:
            return "\n".join([*lines, f"  nothing changes: the table keeps its {self.before} rows"])
        lines.append(
            f"  rows: {self.before} before, {expected.inserted} inserted, {expected.updated} updated, "
            f"{expected.deleted} deleted, {self.total} after"
        )
        how = " into new ones" if self.repack else ""
        lines.append(
            f"  files: {len(self.rewrite)} rewritten{how}, {len(self.drop)} removed, {len(self.keep)} kept "
            f"({self.scanned} looked into)"
        )
        lines += [f"  rewrite {file.uri}: {self.matched.get(file.uri, 0)} rows matched" for file in self.rewrite]
        lines += [f"  remove {file.uri}" for file in self.drop]
        if self.evolution.creates:
            lines.append(f"  create the table with {len(self.evolution.final)} columns")
        else:
            lines += [f"  add column {'.'.join(add.path)} {add.column.type}" for add in self.evolution.adds]
        lines += [
            f"  widen {'.'.join(step.path)} from {step.before} to {step.after}" for step in self.evolution.widenings
        ]
        return "\n".join(lines)


# Files that are rewritten together become files of about this size: large enough to scan well, small enough for memory.
PACK_BYTES = 64 * 1024 * 1024


def plan_merge(
    unified: Unified,
    *,
    files: Sequence[DataFile],
    source_rows: int,
    matches: Matches,
    scanned: int,
    narrow: Collection[str] = (),
) -> MergePlan:
    """What the merge will do to each file. `narrow` are those that hold a column in a type which it no longer has."""
    does = unified.spec.effects
    before = sum(file.rows for file in files)
    matched = sum(matches.rows.values())
    if does.delete_matched:
        expected = MergeCounts(inserted=source_rows, deleted=matched)
    else:
        expected = MergeCounts(
            inserted=source_rows - matches.source_rows if does.insert_unmatched else 0,
            updated=matched if does.update_matched else 0,
            deleted=before - matched if does.delete_unmatched else 0,
        )
    if strangers := matches.rows.keys() - {file.uri for file in files}:
        # Counting rows of a file that is not rewritten would report an update that never happened.
        raise EngineError(f"the engine found rows in {min(strangers)}, which is no file of the table by that name")
    rewrite, drop, keep = [], [], []
    for file in files:
        rows = matches.rows.get(file.uri, 0)
        left = rows if does.delete_unmatched else file.rows - rows if does.delete_matched else file.rows
        touched = rows if does.update_matched or does.delete_matched else 0
        if left < file.rows and not left:
            drop.append(file)
        elif touched or left < file.rows or (file.uri in narrow and expected):
            rewrite.append(file)
        else:
            keep.append(file)
    return MergePlan(
        unified.spec,
        unified.evolution,
        before,
        source_rows,
        expected,
        tuple(rewrite),
        tuple(drop),
        tuple(keep),
        _packs(rewrite, len(files) - len(drop)),
        dict(matches.rows),
        scanned,
    )


def _packs(files: Sequence[DataFile], remaining: int) -> tuple[tuple[DataFile, ...], ...]:
    if not worth_repacking(len(files), remaining):
        return tuple((file,) for file in files)
    packs: list[list[DataFile]] = []
    size = 0
    for file in files:
        fits = packs and _one_partition(packs[-1][-1], file) and size + file.size_bytes <= PACK_BYTES
        if fits:
            packs[-1].append(file)
            size += file.size_bytes
        else:
            packs.append([file])
            size = file.size_bytes
    return tuple(tuple(pack) for pack in packs)


def _one_partition(one: DataFile, other: DataFile) -> bool:
    return one.partition == other.partition and one.partition_key == other.partition_key
