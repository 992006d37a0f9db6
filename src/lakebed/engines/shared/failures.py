"""Errors of an engine's own as ours: the merge that failed, and that the target is as it was."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pyarrow as pa

from lakebed.errors import LakebedError
from lakebed.merge_core import refusals
from lakebed.merge_core.spec import MergeSpec


@contextmanager
def engine_failures(spec: MergeSpec, *kinds: type[Exception], what: str) -> Iterator[None]:
    """Raises ENGINE_FAILED for errors of these kinds: `what` happened, and what the engine said."""
    try:
        yield
    except kinds as error:
        said, remedy = (error.message, error.remedy) if isinstance(error, LakebedError) else (str(error), None)
        raise refusals.engine_failed(spec, f"{what}: {said}", remedy=remedy) from error


def arrow_failures(spec: MergeSpec) -> AbstractContextManager[None]:
    return engine_failures(spec, pa.ArrowException, OSError, what="PyArrow failed during the merge")
