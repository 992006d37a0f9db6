"""How the benchmarks measure."""
