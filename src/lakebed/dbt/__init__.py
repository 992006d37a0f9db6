"""dbt models as tables that never lose a column: a plugin for dbt-duckdb, and the dbt package that calls it."""
