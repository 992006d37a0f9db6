"""Plain Parquet folders with a journal beside them."""
