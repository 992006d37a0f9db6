"""Keys that a catalog hands out with its table, for engines that have none of their own."""

from dataclasses import replace

from lakebed.storage import Storage
from lakebed.targets.base import LendsStorage, Target


def borrow_keys(storage: Storage, target: Target) -> Storage:
    """The storage with the keys that the table's catalog hands out, now and later, for the places of the table."""
    if not isinstance(target, LendsStorage):
        return storage
    return Storage(replace(storage.settings.with_key_ring(), lent=target.key_ring.lent))


def storage_of(target: Target, otherwise: Storage) -> Storage:
    """How the table's own files are reached: as the target does it, where it knows more than the settings here."""
    return Storage(target.key_ring) if isinstance(target, LendsStorage) else otherwise
