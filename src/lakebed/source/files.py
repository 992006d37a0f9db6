"""Files of any kind under a folder, a prefix or a pattern: what they are by their names, and what their folders say."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import unquote

from lakebed.errors import ConfigError, NotFound, SourceError
from lakebed.model import Compression, Content, SourceFile
from lakebed.storage import Entry, Storage, absolute, is_local, local_path

FileFormat: TypeAlias = Literal["csv", "json", "parquet"]
"""What files hold, where their names do not say it."""

_PACKED: tuple[tuple[str, Compression], ...] = ((".gz", "gzip"), (".gzip", "gzip"), (".zip", "zip"))
_CONTENTS: dict[str, Content] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".psv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_PATTERN = re.compile(r"[*?\[]")
# What Hive and Spark call the folder of rows that have no value.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_SHOWN = 5


@dataclass(frozen=True)
class FoundFiles:
    """The files of a source in the order of their names, and what was left out and why."""

    root: str
    files: tuple[SourceFile, ...]
    warnings: tuple[str, ...] = ()


def find_files(source: str, storage: Storage, *, format_: FileFormat | None = None) -> FoundFiles:
    """Every data file of a source, with the columns that its folders are.

    Names that begin with a dot or an underscore are no data; others that do not tell what they are need a `format_`.
    Raises SourceError where nothing is left.
    """
    place = _absolute_pattern(source) if _is_pattern(source) else absolute(source)
    root = _root_of(place) if _is_pattern(source) else place
    files: list[SourceFile] = []
    strange: list[str] = []
    seen = 0
    for entry in sorted(_entries(place, root, storage), key=lambda one: one.uri):
        *folders, name = entry.uri.split("/")
        below = max(0, len(folders) - len(root.split("/")))
        if entry.uri != root and any(map(_is_hidden, [*folders[len(folders) - below :], name])):
            continue
        seen += 1
        file = _file(entry, format_)
        if file is None:
            strange.append(entry.uri)
        else:
            files.append(replace(file, folders=tuple(_folders(folders, below))))
    if not files:
        raise _nothing(source, strange, seen)
    return FoundFiles(root, tuple(files), (_left_out(strange),) if strange else ())


def name_of(source: str) -> str:
    """What a table is called that nobody has named: the last part of the source that is no pattern and no partition."""
    parts = [part for part in absolute(source).split("/") if part and not _PATTERN.search(part) and "=" not in part]
    last = parts[-1] if parts else "files"
    stem = last.split(".", 1)[0]
    return stem or last


def _is_hidden(part: str) -> bool:
    return part.startswith((".", "_")) and "=" not in part


def _is_pattern(source: str) -> bool:
    """A path that exists is meant as it is written, whatever its letters."""
    return _PATTERN.search(source) is not None and not (is_local(source) and os.path.lexists(local_path(source)))


def _absolute_pattern(source: str) -> str:
    if not is_local(source):
        return source.rstrip("/")
    return os.path.join(os.getcwd(), os.path.expanduser(source)).rstrip("/")


def _root_of(place: str) -> str:
    """The folder before the first wildcard of a pattern."""
    found = _PATTERN.search(place)
    return place if found is None else place[: found.start()].rpartition("/")[0]


def _entries(place: str, root: str, storage: Storage) -> Iterator[Entry]:
    """What lies below a folder, one file, or what a pattern names."""
    if place == root:
        if is_local(place) and not local_path(place).exists():
            raise NotFound(f"there is nothing at {place}", uri=place)
        if is_local(place) and local_path(place).is_file():
            yield storage.head(place)
            return
        found = False
        for entry in storage.list(place):
            found = True
            yield entry
        if not found and not is_local(place):
            yield storage.head(place)
        return
    wanted = re.compile(_translated(place))
    for entry in storage.list(root or "/"):
        if wanted.fullmatch(entry.uri):
            yield entry


def _translated(pattern: str) -> str:
    """It as a regular expression: `*` and `?` stay inside a folder, `**` does not. A folder is all it holds."""
    text, place = "", 0
    while place < len(pattern):
        letter = pattern[place]
        closing = pattern.find("]", place + 2)
        if pattern.startswith("**/", place):
            text, place = text + "(?:.*/)?", place + 3
        elif pattern.startswith("**", place):
            text, place = text + ".*", place + 2
        elif letter == "[" and closing > 0:
            inside = pattern[place + 1 : closing]
            negated = inside.startswith("!")
            body = inside.removeprefix("!").replace("\\", "\\\\").replace("^", "\\^")
            text, place = text + f"[{'^/' if negated else ''}{body}]", closing + 1
        else:
            text, place = text + {"*": "[^/]*", "?": "[^/]"}.get(letter, re.escape(letter)), place + 1
    return text + "(?:/.*)?"


def _file(entry: Entry, format_: FileFormat | None) -> SourceFile | None:
    name = entry.uri.rsplit("/", 1)[-1].lower()
    compression: Compression = "none"
    for ending, packed in _PACKED:
        if name.endswith(ending):
            name, compression = name.removesuffix(ending), packed
    content = format_ or _CONTENTS.get(name[name.rfind(".") :] if "." in name else "")
    if content is None:
        return None
    if content == "parquet" and compression != "none":
        raise SourceError(
            f"{entry.uri}: Parquet inside of {compression} cannot be read in parts",
            remedy="Unpack it first: Parquet is packed inside already.",
        )
    return SourceFile(entry.uri, entry.uri, content, compression, entry.size_bytes, entry.etag)


def _folders(parts: list[str], below: int) -> Iterator[tuple[str, str | None]]:
    """The columns that folders are: all below the source, and those right above it, which `day=1/` given alone is."""
    above = len(parts) - below
    while above and "=" in parts[above - 1].strip("="):
        above -= 1
    seen: set[str] = set()
    for part in parts[above:]:
        name, equals, value = part.partition("=")
        if not equals or not name or name.startswith((".", "_")) or name in seen:
            continue
        seen.add(name)
        text = unquote(value)
        yield unquote(name), None if text in (_NO_VALUE, "") else text


def _nothing(source: str, strange: list[str], seen: int) -> SourceError:
    if strange:
        return SourceError(
            f"none of the {seen} files under {source} says by its name what it is: {_listed(strange)}",
            remedy="Say it: --format csv, json or parquet.",
        )
    return SourceError(
        f"there is no file to load under {source}",
        remedy="Give a folder, a prefix or a pattern like 'exports/*.csv'. Names that begin with . or _ are skipped.",
    )


def _left_out(strange: list[str]) -> str:
    return (
        f"{len(strange)} file{'s' if len(strange) > 1 else ''} left out, whose names do not say what they are: "
        f"{_listed(strange)}. With --format they are loaded."
    )


def _listed(uris: list[str]) -> str:
    more = f" and {len(uris) - _SHOWN} more" if len(uris) > _SHOWN else ""
    return ", ".join(uris[:_SHOWN]) + more


def require_format(given: str | None) -> FileFormat | None:
    """The format by its name, or ConfigError."""
    match given:
        case None | "csv" | "json" | "parquet":
            return given
    raise ConfigError(f"there is no format {given!r}", remedy="It is csv, json or parquet.")
