"""The Arrow engine: for data that is at home on one machine."""
