"""What an engine must be able to do: load source files, merge rows."""
