"""What the footers of a large dataset said, kept beside it, so that the next process need not read ten thousand files.

A footer is taken from here only for a file of the same name, size and ETag; anything else is read. Commits write it.
"""

import base64
import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lakebed.errors import NotFound, StorageError
from lakebed.model import RESERVED_COLUMNS, Bounds, DataFile
from lakebed.storage import Storage
from lakebed.targets.shared.footers import Footer

FORMAT = 1


class FooterCache:
    """The footers of one dataset, with the bounds of the columns that slices ask for."""

    def __init__(self, uri: str, root: str, storage: Storage) -> None:
        self._uri = uri
        self._root = root
        self._storage = storage

    def load(self, files: Iterable[DataFile]) -> dict[tuple[str, str], Footer]:
        """The footers of those of these files that have not changed since they were kept."""
        try:
            kept = json.loads(self._storage.read(self._uri))
            return self._parse(kept, files) if isinstance(kept, dict) and kept.get("format") == FORMAT else {}
        except (NotFound, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
            # Not there, or not what we wrote: the files themselves say what it would have said.
            return {}

    def _parse(self, kept: Mapping[str, Any], files: Iterable[DataFile]) -> dict[tuple[str, str], Footer]:
        schemas = [pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))) for text in kept["schemas"]]
        known: Mapping[str, Sequence[object]] = kept["files"]
        found: dict[tuple[str, str], Footer] = {}
        for file in files:
            match known.get(file.uri.removeprefix(self._root + "/")):
                case [file.fingerprint, int(rows), int(schema), list(bounds)]:
                    of_columns = {
                        name: Bounds(*facts) for name, facts in zip(RESERVED_COLUMNS, bounds, strict=True) if facts
                    }
                    footer = Footer(replace(file, rows=rows, bounds=of_columns), schemas[schema])
                    found[file.uri, file.fingerprint] = footer
        return found

    def save(self, footers: Iterable[Footer]) -> None:
        """Keeps these footers in place of all others."""
        numbers: dict[int, int] = {}
        schemas: dict[str, int] = {}
        files: dict[str, object] = {}
        for footer in footers:
            if id(footer.schema) not in numbers:
                text = base64.b64encode(footer.schema.serialize()).decode()
                numbers[id(footer.schema)] = schemas.setdefault(text, len(schemas))
            bounds = [_facts(footer.file.bounds.get(name)) for name in RESERVED_COLUMNS]
            files[footer.file.uri.removeprefix(self._root + "/")] = [
                footer.file.fingerprint,
                footer.file.rows,
                numbers[id(footer.schema)],
                bounds,
            ]
        kept = {"format": FORMAT, "schemas": list(schemas), "files": files}
        # The commit has happened: a cache that cannot be written must not look like a commit that failed.
        with contextlib.suppress(StorageError):
            self._storage.put(self._uri, json.dumps(kept).encode())


def _facts(bounds: Bounds | None) -> list[object] | None:
    if bounds is None or not isinstance(bounds.minimum, str | None) or not isinstance(bounds.maximum, str | None):
        return None
    return [bounds.minimum, bounds.maximum, bounds.nulls, bounds.exact]
