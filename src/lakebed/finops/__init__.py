"""What a bill is asked: views for the SQL that people have, FOCUS, sums on a day, differences, receipts."""
