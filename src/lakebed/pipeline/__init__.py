"""One delivery's way into its table: discover, decide, plan, stage, load, reconcile."""
