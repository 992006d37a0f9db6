"""What a merge means, without any engine: the spec, its validation, the plan, the counts, and a slow reference."""
