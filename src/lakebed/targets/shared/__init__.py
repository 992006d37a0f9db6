"""What several targets use."""
