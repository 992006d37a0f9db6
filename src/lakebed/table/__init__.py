"""What is done to one table: merge, evolve, read, look back, sweep."""
