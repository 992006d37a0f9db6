"""The pipeline: discover, stage, load, reconcile; each step takes the previous one's value and returns the next."""
