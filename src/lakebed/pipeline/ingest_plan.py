"""Which files are new, and what they do to their table: decided and planned as frozen values, without any engine."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lakebed.config import Settings
from lakebed.errors import ConfigError, SourceError
from lakebed.kernels.evidence import Evidence
from lakebed.kernels.inspect import FileFacts
from lakebed.merge_core.validate import with_text_paths
from lakebed.model import FILE, Dialect, Digits, SourceFile
from lakebed.pipeline.ingest_spec import IngestSpec
from lakebed.schema.evolve import EvolutionPlan, Policy, plan_evolution
from lakebed.schema.identity import Identities, assign
from lakebed.schema.infer import Inferred, follow_table, infer_type
from lakebed.schema.names import has_finished_names
from lakebed.schema.types import Column, DataType, Decimal, Null, Schema, Text, fold
from lakebed.state.records import FileRecord
from lakebed.targets.base import TableState, Target

FileAction: TypeAlias = Literal["load", "replace", "skip", "empty"]
"""What becomes of a file: its rows come, they come in place of those its path had before, or nothing happens."""


@dataclass(frozen=True)
class KnownFile:
    """A file with its checksum; `facts` are None where it was not read, because the ledger knows it."""

    file: SourceFile
    identity: str
    sha256: str
    facts: FileFacts | None = None

    @classmethod
    def read(cls, file: SourceFile, facts: FileFacts) -> "KnownFile":
        """The file as it was found to be, pinned to that content."""
        identity = identity_of(facts.sha256, file.folders)
        pinned = replace(file, dialect=facts.dialect, identity=identity, sha256=facts.sha256)
        return cls(pinned, identity, facts.sha256, facts)

    def record(self, *, rows: int = 0, loaded: bool = False) -> FileRecord:
        file = self.file
        state: Literal["loading", "loaded"] = "loaded" if loaded else "loading"
        return FileRecord(file.uri, self.identity, self.sha256, file.size_bytes, file.etag, rows, state)


@dataclass(frozen=True)
class DecidedFile:
    """A file, and what happens to it, in words for the user."""

    known: KnownFile
    action: FileAction
    reason: str


@dataclass(frozen=True)
class Decided:
    """All files of a source, and the identities whose rows leave the table."""

    files: tuple[DecidedFile, ...]
    removed: frozenset[str] = frozenset()

    @property
    def loads(self) -> tuple[KnownFile, ...]:
        return tuple(one.known for one in self.files if one.action in ("load", "replace"))

    @property
    def rows(self) -> int:
        return sum(one.facts.rows for one in self.loads if one.facts is not None)


def identity_of(sha256: str, folders: Sequence[tuple[str, str | None]]) -> str:
    """What rows of a file carry: its checksum. Where its folders are columns, their values are part of the rows."""
    if not folders:
        return sha256
    values = json.dumps([sha256, *folders], separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(values.encode()).hexdigest()


def decide_files(
    known: Iterable[KnownFile], held: Collection[str], records: Sequence[FileRecord], *, keyed: bool
) -> Decided:
    """New content is loaded, wherever it lies; a path whose content is new gives up the rows that it had before.

    `held` are the identities whose rows the table has. With keys nothing is removed: rows are matched, not files. A
    path that has gone keeps its rows. So does one that is empty now, which may be an upload that was cut off.
    """
    files = tuple(known)
    here = {one.file.uri for one in files}
    before: dict[str, set[str]] = {}
    for record in records:
        before.setdefault(record.path, set()).add(record.identity)
    decided: list[DecidedFile] = []
    taken: dict[str, str] = {}
    outdated: set[str] = set()
    for one in files:
        old = {identity for identity in before.get(one.file.uri, ()) if identity != one.identity and identity in held}
        if one.facts is not None and not one.facts.columns and not one.facts.rows:
            decided.append(DecidedFile(one, "empty", "it is empty"))
            continue
        outdated |= old
        if one.identity in held:
            decided.append(DecidedFile(one, "skip", "its content is loaded already"))
        elif one.identity in taken:
            decided.append(DecidedFile(one, "skip", f"it is equal to {taken[one.identity]}"))
        elif old and not keyed:
            decided.append(DecidedFile(one, "replace", "its content has changed"))
        else:
            decided.append(DecidedFile(one, "load", "its content has changed" if old else "new"))
        taken.setdefault(one.identity, one.file.uri)
    claimed = {one.identity for one in files}
    claimed |= {record.identity for record in records if record.path not in here}
    return Decided(tuple(decided), frozenset() if keyed else frozenset(outdated - claimed))


@dataclass(frozen=True)
class IngestPlan:
    """What the files do to the table: names, schema, and which original is which column."""

    identities: Identities
    evolution: EvolutionPlan
    columns: Schema  # the files' columns as the table has them, by one of their originals
    aliases: tuple[tuple[str, str], ...]  # their other originals
    waiting: tuple[str, ...]  # originals that hold nothing yet
    inferred: tuple[str, ...]  # the columns whose types nobody has said
    hints: tuple[str, ...]  # what is worth knowing of the types that were found

    @property
    def sum_columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column.type, Decimal))

    def name(self, given: str) -> str:
        """What the table calls a column that the user names as the files do, or as the table does."""
        found = self.identities.by_original.get(given, given)
        return self.evolution.final[found].name if found in self.evolution.final else found

    @property
    def types(self) -> dict[str, str]:
        """The types of the files' columns, which a later `types=` can hold them to."""
        return {column.name: str(column.type) for column in self.columns}


def digits_of(decimals: str) -> Digits:
    """The decimal type of the settings."""
    precision, scale = map(int, decimals.split(","))
    return Digits(precision, scale)


def plan_ingest(
    files: Sequence[KnownFile],
    target: Target,
    state: TableState,
    spec: IngestSpec,
    *,
    remembered: Mapping[str, str],
    settings: Settings,
) -> IngestPlan:
    """What the table becomes when these files arrive. Raises SchemaError or ConfigError where they do not fit."""
    current = state.schema if state.exists else None
    identities = Identities.from_schema(current or Schema(), aliases=remembered)
    for header in dict.fromkeys(_header(one) for one in files):
        identities = assign(identities, header, settings.naming, finished_names=has_finished_names(header))
    partition_by = [_called(one, identities) for one in spec.partition_by]
    _require_partitions(state, partition_by, target.address)
    digits = digits_of(settings.decimals)
    originals: dict[str, list[str]] = {}
    seen: dict[str, Evidence] = {}
    for one in files:
        for original, evidence in _columns(one, digits).items():
            name = identities[original]
            seen.setdefault(name, Evidence()).join(evidence)
            if original not in originals.setdefault(name, []):
                originals[name].append(original)
    policy = Policy(on_conflict=settings.on_conflict, rules=target.capabilities.rules)
    hints: list[str] = []
    incoming: list[Column] = []
    for name, evidence in seen.items():
        present = None if current is None else current.get(name)
        inferred = infer_type(evidence, digits, column=originals[name][0])
        given = spec.given_type(originals[name], name)
        type_ = given or _type(inferred, present, policy)
        if given is None and inferred.because is not None and isinstance(type_, Text):
            hints.append(_hint(originals[name][0], inferred.because))
        first, *others = _originals(originals[name], identities, name)
        incoming.append(Column(name, type_, original=first, aliases=tuple(others)))
    _require_known(spec, seen, originals)
    named = {fold(one) for one in (*seen, *(original for some in originals.values() for original in some))}
    hints += [f"types names the column {one}, which no file has" for one in spec.types.names if fold(one) not in named]
    schema = Schema.of([*incoming, Column(FILE, Text())])
    schema = _with_typed(schema, [*(_called(one, identities) for one in spec.keys), *partition_by])
    if target.capabilities.partition_in_path:
        schema = with_text_paths(current, schema, state.partition_by if state.exists else partition_by)
    evolution = plan_evolution(current, schema, policy)
    columns: list[Column] = []
    aliases: list[tuple[str, str]] = []
    for source in evolution.sources:
        if source.incoming is None or source.incoming == FILE:
            continue
        final = evolution.final[source.column]
        first, *others = originals[source.incoming]
        columns.append(Column(final.name, final.type, original=first))
        aliases += [(other, final.name) for other in others]
    said = {name for name, some in originals.items() if spec.given_type(some, name) is not None}
    guessed = tuple(source.column for source in evolution.sources if source.incoming not in {None, FILE, *said})
    placed = {source.incoming for source in evolution.sources}
    waiting = tuple(original for name, some in originals.items() if name not in placed for original in some)
    return IngestPlan(identities, evolution, Schema.of(columns), tuple(aliases), waiting, guessed, tuple(hints))


def _header(known: KnownFile) -> tuple[str, ...]:
    assert known.facts is not None
    return (*known.facts.columns, *(name for name, _ in known.file.folders if name not in known.facts.columns))


def _columns(known: KnownFile, digits: Digits) -> dict[str, Evidence]:
    """The columns of a file and of its folders; where both have one, the file's own values count."""
    assert known.facts is not None
    columns = dict(known.facts.columns)
    for name, value in known.file.folders:
        if name not in columns:
            columns[name] = Evidence()
            if value is not None:
                columns[name].see_text(value, digits)
    return columns


def _originals(own: Sequence[str], identities: Identities, name: str) -> list[str]:
    """The originals of a column, the first decided first; those of a column that others have named too."""
    known = identities.originals(name)
    return list(dict.fromkeys((*known, *own))) if set(own) <= set(known) else list(own)


def _type(inferred: Inferred, present: Column | None, policy: Policy) -> DataType:
    """Who asks for variant columns wants other types beside the table's, not read into them."""
    if present is None or policy.on_conflict == "variant":
        return inferred.type
    return follow_table(present.type, inferred.type, policy.rules)


def _hint(original: str, because: str) -> str:
    return (
        f"column {original or repr(original)} is text, because {because!r} is among its numbers; --types can say "
        "otherwise, and values that do not fit are then refused"
    )


def _called(given: str, identities: Identities) -> str:
    return identities.by_original.get(given, given)


def _with_typed(schema: Schema, needed: Sequence[str]) -> Schema:
    """Keys and partitions cannot wait for a type: a NULL key is refused, and NULL is a partition."""
    names = {fold(name) for name in needed}
    return Schema.of(
        replace(column, type=Text()) if fold(column.name) in names and isinstance(column.type, Null) else column
        for column in schema
    )


def _require_known(spec: IngestSpec, seen: Mapping[str, Evidence], originals: Mapping[str, list[str]]) -> None:
    names = {fold(one) for one in (*seen, *(original for some in originals.values() for original in some))}
    for what, given in (("key", spec.keys), ("partition_by", spec.partition_by)):
        for name in given:
            if fold(name) not in names:
                raise ConfigError(
                    f"none of the files has the column {name}, which is a {what}",
                    remedy=f"Columns: {', '.join([one for some in originals.values() for one in some][:20])}.",
                )


def _require_partitions(state: TableState, given: Sequence[str], address: str) -> None:
    if state.exists and given and [fold(name) for name in given] != [fold(name) for name in state.partition_by]:
        raise ConfigError(
            f"{address} is partitioned by {', '.join(state.partition_by) or 'nothing'}, not by {', '.join(given)}",
            remedy="Leave partition_by out: a table keeps the partitions it was created with.",
        )


def describe_dialects(files: Iterable[KnownFile]) -> tuple[str, ...]:
    """How text files are written, where that is not what one expects; files of one dialect are told together."""
    found: dict[tuple[str, Dialect], list[str]] = {}
    for one in files:
        if (dialect := one.file.dialect) is not None:
            found.setdefault((one.file.content, dialect), []).append(one.file.uri)
    said = []
    for (content, dialect), uris in found.items():
        if dialect == Dialect():
            continue
        more = f" and {len(uris) - 1} more" if len(uris) > 1 else ""
        how = str(dialect) if content == "csv" else dialect.encoding
        said.append(f"{uris[0]}{more}: read as {content} with {how}")
    return tuple(said)


def require_some(files: Sequence[DecidedFile], source: str) -> None:
    """Refuses a source of which all files are empty."""
    if files and all(one.action == "empty" for one in files):
        raise SourceError(f"every file under {source} is empty", remedy="Copy the files again.")
