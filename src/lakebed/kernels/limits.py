"""How much of a source is taken before it is refused: one value, for the driver and for the kernels it travels to."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from lakebed.errors import SourceError

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(r"[\[{]|[\]}]")
# Below it a ratio says nothing: a header and a few equal rows pack into almost nothing.
_RATIO_FROM_BYTES = 64 << 20
# The most that Python's csv takes on every system.
_LONGEST_FIELD = (1 << 31) - 1


def _limit(default: int, help_: str) -> int:
    value: int = field(default=default, metadata={"help": help_})
    return value


@dataclass(frozen=True, slots=True)
class Limits:
    """What a source may be. A bomb, a quote that is never closed or a file of another kind is larger."""

    header_bytes: int = _limit(8 << 20, "Longest header of a CSV file, in bytes.")
    line_bytes: int = _limit(64 << 20, "Longest record of a CSV file, in bytes.")
    columns: int = _limit(20_000, "Most columns of a file or a manifest, fields of JSON objects included.")
    packed_ratio: int = _limit(
        500, "How many times as large as its packed file the data of a gzip or ZIP file may be, from 64 MB on."
    )
    unpacked_bytes: int = _limit(64 << 30, "Most bytes that a gzip or ZIP file may unpack to.")
    manifest_bytes: int = _limit(64 << 20, "Largest manifest, in bytes.")
    json_depth: int = _limit(100, "Deepest nesting of a manifest, or of a row of JSON.")

    def __post_init__(self) -> None:
        for one in fields(self):
            if getattr(self, one.name) < 1:
                raise ValueError(f"{one.name} is {getattr(self, one.name)}: a limit is 1 or more")

    def remedy(self, name: str) -> str:
        """What to do about a file that is larger than this limit."""
        return (
            f"The limit is {getattr(self, name)}. If the file is right, raise it: {name} under [limits] in"
            f" lakebed.toml, or LAKEBED_LIMITS_{name.upper()}."
        )

    def require_columns(self, names: Sequence[object], file: str) -> None:
        """Raises SourceError where there are too many columns."""
        if len(names) > self.columns:
            raise SourceError(f"{file}: it has {len(names)} columns", remedy=self.remedy("columns"))

    def require_unpacked(self, unpacked_bytes: int, packed_bytes: int, file: str) -> None:
        """Raises SourceError where what came out of a packed file is too much, or too much for what went in."""
        if unpacked_bytes > self.unpacked_bytes:
            raise SourceError(
                f"{file}: it unpacks to more than {self.unpacked_bytes} bytes", remedy=self.remedy("unpacked_bytes")
            )
        if unpacked_bytes > max(_RATIO_FROM_BYTES, self.packed_ratio * packed_bytes):
            raise SourceError(
                f"{file}: its {packed_bytes} bytes unpack to more than {self.packed_ratio} times as many",
                remedy=self.remedy("packed_ratio"),
            )


# Those that hold where nobody has set any.
DEFAULT_LIMITS = Limits()


def allow_long_fields() -> None:
    """Lets Python's csv read fields of any length, for the whole process: what it is given is within limits already."""
    csv.field_size_limit(_LONGEST_FIELD)


def json_depth(text: str) -> int:
    """How deep a JSON text is nested, without parsing it: what a parser would have to hold at once."""
    deepest = depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
