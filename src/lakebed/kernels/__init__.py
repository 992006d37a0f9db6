"""What Spark workers run: the standard library, pyarrow, lakebed.errors and lakebed.model, nothing else."""
