"""The entry points that the specifications name, thin."""

from lakebed.s3_tables import evolve_s3_tables_schema

__all__ = ["evolve_s3_tables_schema"]
