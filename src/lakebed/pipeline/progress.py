"""Progress: an observer is called at every step of the pipeline. It changes nothing."""

from lakebed.engines.protocols.load import FileDone
from lakebed.model import Delivery
from lakebed.pipeline.reports import DeliveryReport


class Observer:
    """Called at every step. This one ignores them all; the command line draws them."""

    def source_begins(self, name: str) -> None:
        """One of several configured sources is about to be run."""

    def discovered(self, deliveries: int, superseded: int) -> None:
        """Discovery is over."""

    def inspecting(self, delivery: Delivery) -> None:
        """Files without a manifest are about to be read for their checksums, columns and types."""

    def staging(self, delivery: Delivery) -> None:
        """A delivery's files are about to be copied."""

    def copied(self, size_bytes: int) -> None:
        """So many more bytes of the delivery have been copied."""

    def loading(self, delivery: Delivery) -> None:
        """A delivery's files are about to be converted."""

    def converted(self, done: FileDone) -> None:
        """One more file of the delivery has been converted."""

    def committing(self, delivery: Delivery) -> None:
        """All files are converted; the commit follows."""

    def finished(self, report: DeliveryReport) -> None:
        """A delivery is loaded, skipped or failed."""

    def warned(self, message: str) -> None:
        """Something that the user should know and that stops nothing."""
