"""What a merge means, without any engine."""
