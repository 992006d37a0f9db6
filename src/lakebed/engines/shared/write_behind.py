"""Finished files go to the disk while the next ones are made."""

from concurrent.futures import Future, ThreadPoolExecutor

from lakebed.model import WrittenFile
from lakebed.storage import is_local, join, local_path, sync_file


class WriteBehind:
    """Syncs what an engine has finished, so that the commit, which syncs all of it once more, finds little to wait for.

    A failure is raised when the context ends: the system reports it once, to the first sync.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._syncing: list[Future[None]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="write-behind")

    def __enter__(self) -> "WriteBehind":
        return self

    def __exit__(self, failed: type[BaseException] | None, *_: object) -> None:
        self._thread.shutdown(cancel_futures=failed is not None)
        if failed is None:
            for each in self._syncing:
                each.result()

    def add(self, file: WrittenFile) -> None:
        """Takes a file that its writer has closed. Object stores keep what they have acknowledged."""
        uri = join(self._folder, file.path)
        if is_local(uri):
            self._syncing.append(self._thread.submit(sync_file, local_path(uri)))
