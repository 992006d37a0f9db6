"""The commit record of a Parquet dataset, read as if a stranger had written it: within bounds, or refused."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Literal, cast

from lakebed.errors import TargetError
from lakebed.storage import is_local
from lakebed.targets.base import PastCommit
from lakebed.targets.load_log import NO_LOADS, LoadLog
from lakebed.targets.parquet.partitions import is_data_file
from lakebed.targets.shared.containment import leads_outside
from lakebed.targets.shared.staging import is_staging_id

FORMAT = 1
# A record of a million files is smaller.
LARGEST_BYTES = 512 * 1024 * 1024

_LOCAL_CHECKSUM = re.compile(r"crc32:[0-9a-f]{8}")
_REMOTE_CHECKSUM = re.compile(r"etag:[ -~]{1,1024}")
_STATES = ("pending", "applied")


@dataclass(frozen=True, slots=True)
class Put:
    """A staged file that takes its place in the dataset, over what may lie there."""

    staged: str  # below <id>/data/
    final: str  # below the dataset
    size_bytes: int
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """A file that leaves the dataset."""

    path: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The commit record."""

    id: str
    state: Literal["pending", "applied"]
    puts: tuple[Put, ...] = ()
    deletes: tuple[Delete, ...] = ()
    committed_at: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)  # what the commit says about itself
    txns: Mapping[str, int] = field(default_factory=dict)  # app -> last version, from this commit and those before it
    log: LoadLog = NO_LOADS  # the loads, of this commit and those before it

    @property
    def past(self) -> PastCommit | None:
        """The commit as the target remembers it; None of one that does not say when it was."""
        try:
            at = datetime.fromisoformat(self.committed_at)
        except ValueError:
            return None
        return PastCommit(self.id, at.astimezone(UTC), self.properties)

    def to_bytes(self, *, uri: str) -> bytes:
        """The record as it is written; refused where it could not be read again."""
        self._require_within_bounds(uri)
        facts = asdict(self)
        if not self.txns:
            del facts["txns"]
        del facts["log"]
        if self.log:
            facts["loads"] = self.log.to_text()
        return json.dumps({"format": FORMAT, **facts}).encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, uri: str) -> "CommitRecord":
        """The record as it was written, every path, id, size and checksum of it checked. Raises TargetError."""
        try:
            given = json.loads(data)
            if given["format"] != FORMAT:
                raise TargetError(
                    f"{uri} has format {given['format']!r:.20}, this version knows {FORMAT}", remedy="Upgrade lakebed."
                )
            record = cls(
                id=given["id"],
                state=given["state"],
                puts=tuple(Put(**put) for put in given["puts"]),
                deletes=tuple(Delete(**delete) for delete in given["deletes"]),
                committed_at=given["committed_at"],
                properties=given.get("properties", {}),
                txns=given.get("txns", {}),
                log=LoadLog.from_text(given["loads"]) if "loads" in given else NO_LOADS,
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _refusal(uri, f"{type(error).__name__} while reading it") from error
        record._require_within_bounds(uri)
        return record

    def _require_within_bounds(self, uri: str) -> None:
        if fault := next(self._faults(local=is_local(uri)), None):
            raise _refusal(uri, fault)

    def _faults(self, *, local: bool) -> Iterator[str]:
        if not is_staging_id(self.id):
            yield f"the id {self.id!r:.80} is not one that a staging has"
        if self.state not in _STATES:
            yield f"the state is {self.state!r:.80}"
        if not isinstance(cast(object, self.committed_at), str):
            yield "committed_at is not text"
        properties = cast(object, self.properties)
        if not isinstance(properties, dict) or not all(isinstance(one, str) for one in properties.values()):
            yield "its properties are not texts"
        if not isinstance(cast(object, self.txns), dict) or any(type(one) is not int for one in self.txns.values()):
            yield f"the versions of its writers are {self.txns!r:.80}"
        checksum = _LOCAL_CHECKSUM if local else _REMOTE_CHECKSUM
        for put in self.puts:
            yield from _path_faults("staged", put.staged)
            yield from _dataset_faults("final", put.final, put.size_bytes)
            if not isinstance(cast(object, put.checksum), str) or not checksum.fullmatch(put.checksum):
                yield f"the checksum of {put.final!r:.200} is {put.checksum!r:.80}"
        for delete in self.deletes:
            yield from _dataset_faults("deleted", delete.path, delete.size_bytes)
        for what, paths in (
            ("staged", [put.staged for put in self.puts]),
            ("final", [*(put.final for put in self.puts), *(delete.path for delete in self.deletes)]),
        ):
            if len(set(paths)) < len(paths):
                yield f"a {what} path is in it twice"


def _path_faults(what: str, path: str) -> Iterator[str]:
    if fault := leads_outside(path):
        yield f"the {what} path {path!r:.200} {fault}"


def _dataset_faults(what: str, path: str, size_bytes: int) -> Iterator[str]:
    yield from _path_faults(what, path)
    if not is_data_file(path):
        yield f"the {what} path {path!r:.200} is not that of a data file"
    if type(size_bytes) is not int or size_bytes < 0:
        yield f"the size of {path!r:.200} is {size_bytes!r:.80}"


def _refusal(uri: str, fault: str) -> TargetError:
    return TargetError(
        f"{uri} is not a commit record: {fault}",
        remedy="Nothing was changed. Lakebed writes it whole or not at all, so something else wrote it: restore it, or"
        " move it away together with its folder.",
    )
