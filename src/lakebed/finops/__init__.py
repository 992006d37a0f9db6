"""What a bill is asked: views for the SQL that people have, FOCUS, differences, receipts."""
