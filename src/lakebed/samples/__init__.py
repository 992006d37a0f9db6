"""Believable billing deliveries, deterministic by seed: for tests, benchmarks, the demo, a first try without AWS."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakebed.samples.make import SampleSpec, make_sample, sample
    from lakebed.samples.truth import DeliveryTruth, SampleTruth

__all__ = ["DeliveryTruth", "SampleSpec", "SampleTruth", "make_sample", "sample"]

if not TYPE_CHECKING:
    # What a sample can be is known without pyarrow, which makes it: `lakebed sample --help` waits for no engine.

    def __getattr__(name: str) -> object:
        if name in __all__:
            place = "truth" if name.endswith("Truth") else "make"
            return getattr(import_module(f"lakebed.samples.{place}"), name)
        raise AttributeError(f"module 'lakebed.samples' has no attribute {name!r}")
