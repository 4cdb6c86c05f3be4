"""Pure functions from records to relative throughput, verdicts and words."""
