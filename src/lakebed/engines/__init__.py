"""Engines read, convert and rewrite; they write new immutable files and decide nothing."""
