"""What every run of the tests records, and which of the tests it runs."""
