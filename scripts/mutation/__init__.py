"""Do the tests notice? Random changes to the source, each shown to the tests that reach it."""
