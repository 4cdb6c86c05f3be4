"""Results of each step on each contender: rates, latency, hardware per operation."""
