"""Tables in DuckDB files."""
