"""DuckDB in this process, on the caller's connection or its own."""
