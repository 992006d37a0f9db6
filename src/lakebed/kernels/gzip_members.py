"""The members of a gzip file, which follow each other: where each begins is known from unpacking, and never guessed."""

import re
import zlib
from collections import deque
from typing import IO

from lakebed.model import GzipMember

try:  # Several times as fast as zlib; a worker may lack it.
    from isal import isal_zlib as unpacking
except ImportError:
    unpacking = zlib  # type: ignore[misc]

# How far the second member is looked for: one that begins later is not found, and the file is read by one task.
LOOK_BYTES = 32 << 20
# A block of bgzip has at most 64 kB: so much of a file tells them.
GLANCE_BYTES = (64 << 10) + 16
_READ_BYTES = 256 << 10
_GZIP = 31  # wbits of zlib: a gzip header and trailer, whose checksum is compared
# What every gzip writer begins a member with: method, flags, time, level, system. Packed data may look the same.
_BEGINNING = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)


def may_hold_members(start: bytes) -> bool:
    """Whether a second member may begin here. Only unpacking tells whether one does."""
    return _BEGINNING.search(start, 1) is not None


class MemberStream:
    """The text of a gzip file from its beginning, and the members that it comes from.

    Raises what decompressors raise, and EOFError for a file that ends too early.
    """

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._packed_at = 0  # behind what was unpacked
        self._text_at = 0
        self._data = b""
        self._unpacker = unpacking.decompressobj(wbits=_GZIP)
        self._current = GzipMember()
        self._later: deque[GzipMember] = deque()
        self._ended = False

    def read(self, size: int) -> bytes:
        parts: list[bytes] = []
        wanted = size
        while wanted and not self._ended:
            text = self._unpack(wanted)
            parts.append(text)
            wanted -= len(text)
        return b"".join(parts)

    def member_at(self, text_at: int) -> GzipMember:
        """The last member that begins there or before. Those before it are forgotten."""
        while self._later and self._later[0].text_at <= text_at:
            self._current = self._later.popleft()
        return self._current

    def _unpack(self, most: int) -> bytes:
        data = self._data or self._packed.read(_READ_BYTES)
        text: bytes = self._unpacker.decompress(data, most)
        rest = self._unpacker.unused_data if self._unpacker.eof else self._unpacker.unconsumed_tail
        self._packed_at += len(data) - len(rest)
        self._text_at += len(text)
        self._data = rest
        if self._unpacker.eof:
            self._begin_member()
        elif not data and not text:
            raise EOFError
        return text

    def _begin_member(self) -> None:
        """The next member, behind zeros that some writers fill blocks of a tape or a disk with."""
        while True:
            more = self._data or self._packed.read(_READ_BYTES)
            self._data = more.lstrip(b"\0")
            self._packed_at += len(more) - len(self._data)
            if not more:
                self._ended = True
                return
            if self._data:
                break
        self._later.append(GzipMember(self._packed_at, self._text_at))
        self._unpacker = unpacking.decompressobj(wbits=_GZIP)
