"""Keys that a catalog hands out with its table, for engines that have none of their own."""

import os

from lakebed.storage import Storage, is_local
from lakebed.targets.base import LendsStorage, Target


def borrow_keys(storage: Storage, target: Target, source: object) -> Storage:
    """The storage with the keys that the table's catalog hands out, where the settings have none.

    Not where the source lies in an object store itself: its keys are another's.
    """
    elsewhere = isinstance(source, str | os.PathLike) and not is_local(os.fspath(source))
    if elsewhere or not isinstance(target, LendsStorage):
        return storage
    lent = target.lent_storage()
    return storage if lent is None else Storage(lent)
