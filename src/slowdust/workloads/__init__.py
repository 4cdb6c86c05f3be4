"""Users' own workloads: a TOML file with tables, statements and tests is a benchmark."""
