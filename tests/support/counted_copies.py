"""Real storage that remembers what it copied, and can be made to fail half way."""

from lakebed.errors import StorageError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.storage import Copied, Storage


class CountedCopies(Storage):
    def __init__(self, settings: StorageSettings | None = None) -> None:
        super().__init__(settings)
        self.copied: list[str] = []
        self.fail_at: int | None = None

    def copy(self, source: str, target: str, *, progress: object = None) -> Copied:
        if self.fail_at is not None and len(self.copied) >= self.fail_at:
            raise StorageError("the network is gone", uri=source)
        self.copied.append(source)
        return super().copy(source, target, progress=progress)  # type: ignore[arg-type]
