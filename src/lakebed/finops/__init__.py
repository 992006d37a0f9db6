"""What a bill is asked: its sums on a day, why a month differs, a total with its receipt."""
