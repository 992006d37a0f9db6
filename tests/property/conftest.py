"""Hypothesis for the whole folder: no deadline, because two busy cores say nothing about our code."""

from hypothesis import settings

settings.register_profile("lakebed", deadline=None, database=None)
settings.load_profile("lakebed")
