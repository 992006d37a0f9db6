"""What tests of engines and targets inherit: conformance suites, and a real S3 and Iceberg REST server."""
