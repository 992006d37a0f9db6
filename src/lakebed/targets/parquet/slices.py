"""Which files of a dataset hold rows of a slice, as far as paths and bounds can tell."""

from collections.abc import Sequence

from lakebed.model import AnySlice, DataFile
from lakebed.storage import Storage
from lakebed.targets.base import Affected
from lakebed.targets.shared.footers import match, with_bounds


def affected(files: Sequence[DataFile], slice_: AnySlice, storage: Storage) -> Affected:
    """The files that the slice touches; one of which nothing is proven may hold rows of it."""
    values = slice_.values
    judged = [(file, match(file, values)) for file in with_bounds(files, storage, tuple(values))]
    return Affected(
        whole=tuple(file for file, verdict in judged if verdict == "all"),
        mixed=tuple(file for file, verdict in judged if verdict == "some"),
    )
