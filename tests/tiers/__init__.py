"""The durations that every run of the tests records, and the choice of tests."""
