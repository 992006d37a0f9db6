"""What a change reaches: columns that go, get another name or another type, against the SQL that reads them."""
