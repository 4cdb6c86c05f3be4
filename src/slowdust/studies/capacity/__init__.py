"""The search for the highest rate of each contender that meets an SLA."""
