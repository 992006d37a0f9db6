"""Which files of a dataset hold rows of a slice."""

from collections.abc import Sequence

import pyarrow as pa

from lakebed.errors import NotFound, system_refusal
from lakebed.kernels.files import filesystem
from lakebed.model import AnySlice, DataFile
from lakebed.storage import Storage
from lakebed.targets.base import Affected
from lakebed.targets.shared import slices
from lakebed.targets.shared.footers import with_bounds


def affected(files: Sequence[DataFile], slice_: AnySlice, storage: Storage) -> Affected:
    """The files that the slice touches."""
    settings = storage.settings.resolved()

    def open_(file: DataFile) -> pa.NativeFile:
        opened, path = filesystem(file.uri, settings)
        try:
            return opened.open_input_file(path)
        except FileNotFoundError:
            raise NotFound(f"{file.uri} is gone", uri=file.uri) from None
        except OSError as error:
            raise system_refusal(error, file.uri) from error

    names = tuple(slice_.values)
    columns = pa.schema([(name, pa.null()) for name in names])
    return slices.affected(with_bounds(files, storage, names), slice_, columns, open_)
