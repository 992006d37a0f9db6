"""Rows and exact sums of a table's files, counted by workers: what a load is checked against, where the rows are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakebed.errors import LakebedError
from lakebed.kernels.files import failed
from lakebed.kernels.scan import Scan
from lakebed.kernels.slices import in_slice
from lakebed.kernels.sums import exact_totals
from lakebed.model import GroupKey, Totals


@dataclass(frozen=True)
class CountTasks:
    """A task counts one file of the scan, whose schema has the columns, the currency and those of slice and groups."""

    scan: Scan
    columns: tuple[str, ...]
    currency: str | None
    slice: Mapping[str, object]
    by: tuple[GroupKey, ...] | None = None

    def __call__(self, number: int) -> Totals | LakebedError:
        file = self.scan.files[number]
        try:
            return exact_totals(self._rows(number), self.columns, currency=self.currency, by=self.by)
        except LakebedError as error:
            return error
        except (OSError, pa.ArrowException) as error:
            return failed(error, f"{file.uri} could not be counted")

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        for batch in self.scan.read(self.scan.files[number]):
            yield batch.filter(in_slice(batch, self.slice)) if self.slice else batch
