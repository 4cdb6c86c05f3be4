"""Workloads from servers' logs and statistics: statements with weights and sampled values."""
