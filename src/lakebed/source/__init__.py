"""Discovers and stages deliveries."""
