"""Believable billing deliveries, deterministic by seed: for tests, benchmarks, the demo, a first try without AWS."""

from lakebed.samples.make import SampleSpec, make_sample, sample
from lakebed.samples.truth import DeliveryTruth, SampleTruth

__all__ = ["DeliveryTruth", "SampleSpec", "SampleTruth", "make_sample", "sample"]
