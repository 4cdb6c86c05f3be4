"""Workloads from what servers have logged: statements with their weights and sampled values."""
