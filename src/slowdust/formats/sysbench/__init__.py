"""Sysbench's files and those of the scripts around it."""
