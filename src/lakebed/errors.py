"""Every exception that Lakebed raises.

    LakebedError
    ├── ConfigError (ValueError)          a setting, a flag, a target's address
    ├── ExtraMissing                      packages that an extra of ours brings are not installed
    ├── StorageError                      a file or an object store
    │   ├── NotFound (FileNotFoundError)
    │   ├── AlreadyExists                 a create-only put met an object
    │   └── Changed                       an ETag, size or checksum is not what was seen before
    ├── SourceError                       a delivery that cannot be read as it is
    │   ├── ManifestError
    │   ├── MissingFile
    │   ├── HeaderError
    │   ├── ShrinkRefused                 a closed month would lose much of its rows or of its cost
    │   ├── UnplannedColumns              a file has columns that the plan does not know: plan again with them
    │   └── BadValue                      file, line, column and value
    ├── SchemaError                       columns and types
    │   ├── UnsupportedType
    │   ├── ColumnDropRefused
    │   ├── AmbiguousColumnCase
    │   └── SchemaIncompatible
    ├── MergeError
    │   └── DatasetMergeError             .kind, one of MERGE_ERROR_KINDS
    │       └── InvalidMergeArgument (ValueError)
    ├── EngineError                       Spark, DuckDB or Arrow failed
    │   └── JavaMissing
    ├── TargetError
    │   ├── ConcurrentModification        another writer committed first
    │   └── TargetLocked
    ├── StateError                        the ledger
    │   └── ClaimHeld                     another run works on the same thing
    └── LineageError

Each class carries its facts as attributes and builds its own message: what happened, to what, what to do. Only the
standard library is imported here, because workers import this module too.
"""

import errno
import re
from collections.abc import Iterable, Mapping, Sequence

MERGE_ERROR_KINDS = (
    "INVALID_STRATEGY",
    "INVALID_USE_MERGE",
    "EMPTY_KEY_COLUMNS",
    "INVALID_KEY_COLUMNS",
    "KEY_COLUMN_MISSING_SOURCE",
    "KEY_COLUMN_MISSING_TARGET",
    "NULL_KEY_SOURCE",
    "NULL_KEY_TARGET",
    "DUPLICATE_SOURCE_KEYS",
    "KEY_TYPE_MISMATCH",
    "SCHEMA_INCOMPATIBLE",
    "AMBIGUOUS_COLUMN_CASE",
    "MERGE_UNAVAILABLE",
    "CONCURRENT_MODIFICATION",
    "ENGINE_FAILED",
)


# `scheme://user:password@host`, and what signs or opens a request in a query, a property list or a Spark Connect URL.
# A password may hold slashes; a port is none.
_CREDENTIALS = re.compile(r"(?<=://)(?:[^/@\s]+|[^/@\s:]+:(?!\d+/)[^@\s]+)@")
_NAMED_SECRET = re.compile(
    r"(?i)((?:password|passwd|pwd|secret|token|signature|credential|api[-_.]?key|access[-_.]?key)[\w.-]*=)[^&;,\s'\")]+"
)
# What settings hold as secrets, so that no library can repeat it in a message that we pass on.
_hidden: set[str] = set()
_SHORTEST_HIDDEN = 6


def hide_secrets(secrets: Iterable[str | None]) -> None:
    """No error says these texts from now on. Very short ones are left: they are words of ordinary messages too."""
    _hidden.update(text for text in secrets if text and len(text) >= _SHORTEST_HIDDEN)


def redacted(text: str) -> str:
    """The text with passwords, tokens and keys masked.

    >>> redacted("postgresql://me:hush@host/db")
    'postgresql://***@host/db'
    """
    for secret in sorted(_hidden, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _NAMED_SECRET.sub(r"\1***", _CREDENTIALS.sub("***@", text))


def first_line(error: Exception) -> str:
    """What another library's error says, short enough for a message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class LakebedError(Exception):
    """The base of all of them: what happened, and, as `remedy`, what to do about it."""

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        message = redacted(message)
        super().__init__(message if remedy is None else f"{message}\n  {remedy}")
        self.message = message
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process boundaries (Spark workers, pools); constructors here take keywords, so the default
        # protocol, which calls the class with `args`, would fail on the other side.
        return _restore, (type(self), self.args, self.__dict__)

    def to_dict(self) -> dict[str, object]:
        """What `--json` prints of an error."""
        facts = {name: _redacted_fact(value) for name, value in vars(self).items() if not name.startswith("_")}
        return {"type": type(self).__name__, **facts}


def _redacted_fact(value: object) -> object:
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, tuple):
        return tuple(_redacted_fact(one) for one in value)
    return value


def _restore(kind: type[LakebedError], args: tuple[object, ...], facts: dict[str, object]) -> LakebedError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class ConfigError(LakebedError, ValueError):
    """A setting, a flag or an address that cannot be right."""


class ExtraMissing(LakebedError):
    """Packages that an extra of ours brings are not installed: a plain `pip install lakebed` has none of them."""

    def __init__(self, *, what: str, modules: Sequence[str], extras: Sequence[str]) -> None:
        are = "which is" if len(modules) == 1 else "which are"
        super().__init__(
            f"{what} needs {' and '.join(modules)}, {are} not installed",
            remedy=f"pip install 'lakebed[{','.join(extras)}]'",
        )
        self.modules = tuple(modules)
        self.extras = tuple(extras)


class StorageError(LakebedError):
    """A file or an object store did not do what was asked."""

    def __init__(self, message: str, *, uri: str = "", remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.uri = uri


class NotFound(StorageError, FileNotFoundError):
    """There is nothing at this address."""

    def __str__(self) -> str:
        return str(self.args[0])


class AlreadyExists(StorageError):
    """A create-only put met an object that another process had put there."""


class Changed(StorageError):
    """The object is not the one that was seen before."""


def system_refusal(error: OSError, place: str) -> StorageError:
    """What the operating system refused, told once: to which file, why, and what to do."""
    said = error.strerror or first_line(error)
    where = str(error.filename) if error.filename else place
    remedies = {
        errno.EACCES: "Give this user the right to it, or choose another place.",
        errno.EPERM: "Give this user the right to it, or choose another place.",
        errno.EROFS: "The file system is mounted read-only: choose another place.",
        errno.ENOTDIR: "A part of the path is a file and no folder: choose another place.",
        errno.ENOENT: "The folder is not there and cannot be made: choose another place.",
        errno.ENOSPC: "Make room on the disk, and run again: what was begun is cleared up then.",
        errno.EDQUOT: "Make room in the quota, and run again: what was begun is cleared up then.",
    }
    return StorageError(f"{where}: {said}", uri=place, remedy=remedies.get(error.errno or 0) or access_remedy(said))


# How the clients of object stores say it: obstore, pyarrow, botocore, curl.
_NO_ANSWER = re.compile(
    r"error sending request|NETWORK_CONNECTION|connection refused|could ?n[o']t (?:connect|resolve)"
    r"|timed out|dns error",
    re.IGNORECASE,
)
_DENIED = re.compile(r"ACCESS_DENIED|AccessDenied|SignatureDoesNotMatch|InvalidAccessKeyId|\b40[13]\b", re.IGNORECASE)


def access_remedy(said: str) -> str | None:
    """What to do where a store did not answer, or refused; None where its message is neither."""
    if _NO_ANSWER.search(said):
        return "Nobody answered there: check the address, endpoint_url and region of [storage], and the network."
    if _DENIED.search(said):
        return "Check the credentials: keys, profile or role, and whether the bucket asks the requester to pay."
    return "Give this user the right to it, or choose another place." if "ermission denied" in said else None


class SourceError(LakebedError):
    """A delivery that cannot be read as it is."""


class ManifestError(SourceError):
    """A manifest that is not one, or that contradicts what lies beside it."""

    def __init__(self, message: str, *, manifest: str = "", remedy: str | None = None) -> None:
        super().__init__(f"{manifest}: {message}" if manifest else message, remedy=remedy)
        self.manifest = manifest


class MissingFile(SourceError):
    """Files that the manifest lists are not there."""

    def __init__(self, *, manifest: str, files: Sequence[str], remedy: str | None = None) -> None:
        shown = ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")
        super().__init__(f"{manifest}: {len(files)} of its files are missing: {shown}", remedy=remedy)
        self.manifest = manifest
        self.files = tuple(files)


class HeaderError(SourceError):
    """A header that does not fit its file or its manifest."""

    def __init__(self, message: str, *, file: str, line: int = 1, remedy: str | None = None) -> None:
        super().__init__(f"{file}, line {line}: {message}", remedy=remedy)
        self.file = file
        self.line = line


class ShrinkRefused(SourceError):
    """A delivery would take much of a closed month away, and nobody has said that this is right."""

    def __init__(
        self, *, slice_: str, delivery: str, loaded: str | None, before: str, after: str, limit: float
    ) -> None:
        there = f"the loaded one, {loaded}, has" if loaded else "the table has"
        super().__init__(
            f"{slice_}: delivery {delivery} has {after}, {there} {before}; "
            f"a closed month that loses more than {limit * 100:g} % is refused",
            remedy="Look at the delivery. If the month is as it should be, load it with --accept-shrink.",
        )
        self.slice = slice_
        self.delivery = delivery
        self.loaded = loaded
        self.before = before
        self.after = after
        self.limit = limit


class UnplannedColumns(SourceError):
    """A file has columns that the plan does not know, or fields of them; the planner adds `names` and tries again.

    `types` has those that Parquet files give them: one for each file that was met with another.
    """

    def __init__(
        self, *, file: str, names: Sequence[str], types: Mapping[str, tuple[object, ...]] | None = None
    ) -> None:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        super().__init__(
            f"{file}: {len(names)} of its columns are not in the plan: {shown}",
            remedy="Load the delivery again: it is planned again from the headers of its files.",
        )
        self.file = file
        self.names = tuple(names)
        self._types = dict(types or {})

    @property
    def types(self) -> Mapping[str, tuple[object, ...]]:
        return self._types

    @classmethod
    def of_all(cls, some: "Sequence[UnplannedColumns]") -> "UnplannedColumns":
        """What several files bring, as one."""
        names = dict.fromkeys(name for one in some for name in one.names)
        types = {name: tuple(type_ for one in some for type_ in one.types.get(name, ())) for name in names}
        return cls(file=some[0].file, names=tuple(names), types=types)


class BadValue(SourceError):
    """A value that does not parse as its column's type."""

    def __init__(
        self,
        *,
        file: str,
        line: int | None,
        column: str,
        value: str,
        expected: str,
        count: int = 1,
        remedy: str | None = None,
    ) -> None:
        place = f"{file}, line {line}" if line is not None else file
        more = f" ({count} such values in this file)" if count > 1 else ""
        shown = value if len(value) <= 80 else value[:77] + "..."
        super().__init__(f"{place}, column {column}: {shown!r} is not {expected}{more}", remedy=remedy)
        self.file = file
        self.line = line
        self.column = column
        self.value = value
        self.expected = expected
        self.count = count


class SchemaError(LakebedError):
    """Columns or types that cannot be."""


class UnsupportedType(SchemaError):
    """A type of another system that has no counterpart here."""

    def __init__(self, *, system: str, type_name: str, column: str | None = None) -> None:
        where = f"column {column}: " if column else ""
        super().__init__(
            f"{where}the {system} type {type_name} is not supported", remedy="Cast it to a supported type first."
        )
        self.system = system
        self.type_name = type_name
        self.column = column


class ColumnDropRefused(SchemaError):
    """Columns were to be dropped, or a commit would have lost them."""

    def __init__(self, *, table: str, columns: Sequence[str]) -> None:
        super().__init__(
            f"Column drops not supported: {table} would lose {', '.join(columns)}",
            remedy="Columns that vanish from the source stay in the table and are filled with NULL.",
        )
        self.table = table
        self.columns = tuple(columns)


class AmbiguousColumnCase(SchemaError):
    """Two columns of one side differ only in case."""

    def __init__(self, *, side: str, names: Sequence[str]) -> None:
        super().__init__(
            f"the {side} has columns that differ only in case: {', '.join(names)}",
            remedy="Rename one of them: names are compared without regard to case.",
        )
        self.side = side
        self.names = tuple(names)


_NUMBERS = ("decimal", "int", "uint", "long", "float", "double")
_CAST_OR_KEEP_BOTH = "Cast it in the source, or choose the policy on_conflict='variant' to keep both."
# Between types of numbers a cast rounds or cuts values, and says nothing.
_KEEP_BOTH = (
    "Choose the policy on_conflict='variant', which keeps both in columns of their own, or write to a new table, which "
    "takes the wider type from the start. A cast would round."
)
# Between days and moments it cuts the time of day off.
_KEEP_BOTH_TIMES = (
    "Choose the policy on_conflict='variant', which keeps both in columns of their own, or write to a new table, which "
    "takes moments from the start. Only where every moment is midnight does a cast to date lose nothing."
)


def _remedy_between(current: str, incoming: str) -> str:
    if current.startswith(_NUMBERS) and incoming.startswith(_NUMBERS):
        return _KEEP_BOTH
    if current == "date" and incoming.startswith("timestamp") and "," not in incoming:
        return _KEEP_BOTH_TIMES
    return _CAST_OR_KEEP_BOTH


class SchemaIncompatible(SchemaError):
    """A column whose incoming type neither equals nor widens what is there."""

    def __init__(
        self, *, column: str, current: str, incoming: str, reason: str = "", remedy: str | None = None
    ) -> None:
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"column {column} is {current} in the table and {incoming} in the new data{because}",
            remedy=remedy or _remedy_between(current, incoming),
        )
        self.column = column
        self.current = current
        self.incoming = incoming
        self.reason = reason


class MergeError(LakebedError):
    """A merge that was refused or failed."""


class DatasetMergeError(MergeError):
    """A merge that was refused or failed; `kind` says why, and the target is as it was."""

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        remedy: str | None = None,
        column: str | None = None,
        count: int | None = None,
        keys: Sequence[object] = (),
        strategy: str | None = None,
        key_columns: Sequence[str] = (),
        operation: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.kind = kind
        self.column = column
        self.count = count
        self.keys = tuple(keys)
        self.strategy = strategy
        self.key_columns = tuple(key_columns)
        self.operation = operation


class InvalidMergeArgument(DatasetMergeError, ValueError):
    """A merge whose arguments are wrong before any data is looked at."""


class EngineError(LakebedError):
    """An engine failed at something that is not the user's fault, or not known to be."""


class JavaMissing(EngineError):
    """No Java that Spark can run on."""

    def __init__(self, *, fitting: Sequence[int], found: Sequence[str]) -> None:
        versions = " or ".join(str(version) for version in fitting)
        instead = f" (found: {'; '.join(found)})" if found else ""
        super().__init__(
            f"Spark needs Java {versions}, and there is none here{instead}",
            remedy="On Debian or Ubuntu: sudo apt-get install openjdk-17-jre-headless. "
            "Elsewhere install one and set JAVA_HOME to it.",
        )
        self.fitting = tuple(fitting)
        self.found = tuple(found)


class TargetError(LakebedError):
    """A table that cannot be opened or committed to."""


class ConcurrentModification(TargetError):
    """Another writer committed to the table since it was read."""


class TargetLocked(TargetError):
    """Another process holds the table's lock."""


class StateError(LakebedError):
    """The ledger cannot be used as it is."""


class ClaimHeld(StateError):
    """Another run works on the same thing."""

    def __init__(self, *, resource: str, host: str, pid: int, since: str) -> None:
        super().__init__(
            f"{resource} is being worked on by process {pid} on {host} since {since}",
            remedy="Wait for it to finish; if it has crashed, its claim is free as soon as that is certain.",
        )
        self.resource = resource
        self.host = host
        self.pid = pid
        self.since = since


class LineageError(LakebedError):
    """Lineage was asked for in a way that cannot be answered. Problems in SQL are issues, not exceptions."""
