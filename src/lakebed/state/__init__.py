"""The ledger of deliveries, columns, loads and reconciliations."""
