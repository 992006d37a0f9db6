"""What Spark workers run: the standard library, pyarrow and lakebed.errors, nothing else."""
