"""A dataset as its pending commit record describes it, for those who only read: nothing is moved or removed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lakebed.errors import TargetError
from lakebed.storage import Entry
from lakebed.targets.load_log import NO_LOADS, LoadLog


@dataclass(frozen=True)
class Overlay:
    """What a pending record changes: files that are still staged, those in place already, and those that leave.

    All by their path below the dataset. The empty one changes nothing. `txns` and `log` are those of the last commit.
    """

    record: str = ""
    staged: Mapping[str, Entry] = field(default_factory=dict)
    in_place: frozenset[str] = frozenset()
    leaving: Mapping[str, int] = field(default_factory=dict)
    txns: Mapping[str, int] = field(default_factory=dict)
    log: LoadLog = NO_LOADS

    def apply(self, found: Iterable[tuple[str, Entry]]) -> dict[str, Entry]:
        """The files of the dataset once the commit is finished. Raises TargetError where it could not be finished."""
        files: dict[str, Entry] = {}
        for path, entry in found:
            if path not in self.leaving:
                files[path] = entry
            elif entry.size_bytes != self.leaving[path]:
                raise other_file_error(entry.uri, self.record, entry.size_bytes, self.leaving[path])
        if lost := self.in_place - files.keys():
            raise lost_file_error(min(lost), self.record)
        return {**files, **self.staged}


NO_OVERLAY = Overlay()


def other_file_error(uri: str, record: str, size_bytes: int, recorded_bytes: int) -> TargetError:
    """A file that a commit removes has been replaced by another."""
    return TargetError(
        f"{uri} was to be removed by the commit of {record}, and is another file now ({size_bytes} bytes"
        f" instead of {recorded_bytes})",
        remedy="Move it out of the dataset; the commit is finished when the table is written to again.",
    )


def lost_file_error(path: str, record: str) -> TargetError:
    """A file that a commit puts into place is nowhere."""
    return TargetError(
        f"the commit of {record} cannot be finished: {path} is neither staged nor in place",
        remedy="Restore the file, or give that commit up by moving its folder away.",
    )


def damaged_file_error(staged: str, found: str, recorded: str) -> TargetError:
    """A staged file is not the one that was committed."""
    return TargetError(
        f"{staged} is not what was committed ({found}, recorded {recorded})",
        remedy="Restore it from a backup; nothing else of the dataset was touched.",
    )
