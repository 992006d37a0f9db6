"""Finds the files of a manifest where they lie now.

A manifest names its files by their keys in AWS's bucket. A mirror may begin anywhere: at the bucket, at the prefix, at
the report, at one month. So a key is matched by its end, beside or above the manifest, never somewhere else.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from lakebed.source.deliveries import is_dated
from lakebed.source.manifest import Manifest
from lakebed.storage import Entry


@dataclass(frozen=True, slots=True)
class BucketPlace:
    """Where a manifest's bucket begins in the source: a folder, and how many leading parts of a key it stands for."""

    folder: str
    skipped: int

    def uri(self, key: str) -> str:
        parts = key.split("/")[self.skipped :]
        return "/".join([self.folder, *parts])


def locate(manifest: Manifest, listed: Mapping[str, Entry]) -> tuple[Entry | None, ...]:
    """The entry of each key of the manifest, or None where the file is missing. One place holds them all."""
    place = _place(manifest, listed)
    return tuple(listed.get(place.uri(key)) if place else None for key in manifest.keys)


def _place(manifest: Manifest, listed: Collection[str]) -> BucketPlace | None:
    # The place is settled by the first file that is found; the rest must lie in the same one.
    for key in manifest.keys:
        for candidate in _candidates(manifest, key):
            if candidate.uri(key) in listed:
                return candidate
    return None


def _candidates(manifest: Manifest, key: str) -> list[BucketPlace]:
    """Where the bucket may begin, the longest end of the key first, and nearest to the manifest among equals."""
    own = manifest.uri.split("/")[:-1]
    parts = key.split("/")
    found = []
    for skipped in range(len(parts)):
        for depth in range(len(own), 0, -1):
            if _fits(manifest, own, depth, parts, skipped):
                found.append(BucketPlace("/".join(own[:depth]), skipped))
    return found


def _fits(manifest: Manifest, own: list[str], depth: int, parts: list[str], skipped: int) -> bool:
    name = own[depth - 1]
    # A folder that the key names stands for exactly that part of the key. Otherwise an old file that lies in the date
    # folder under the same name would pass for one of the delivery's own folder.
    if name and name in parts[:-1] and (skipped == 0 or parts[skipped - 1] != name):
        return False
    if depth == len(own):
        return True
    # Above the manifest's folder other months and deliveries lie: all that tells them apart must be in the path.
    telling = [part for part in parts[:skipped] if is_dated(part) or manifest.id in part]
    return not telling
