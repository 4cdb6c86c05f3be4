"""Workloads of the user's own: a TOML file with tables, statements and tests as a benchmark."""
