"""Targets make new files visible in one commit, with the schema change and the removal of what they replace."""
