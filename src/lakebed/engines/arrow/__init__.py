"""PyArrow in this process: small data, no Java."""
