"""Names, identity, types and evolution plans: pure values; pyarrow yes, engines no."""
