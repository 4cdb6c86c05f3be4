"""Sysbench runs in directories, made into experiments."""
