"""The change of the time per operation as a sum of parts."""
