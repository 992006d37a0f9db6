"""What the benchmarks read, made by themselves."""
