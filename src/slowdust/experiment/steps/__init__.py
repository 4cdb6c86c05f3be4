"""The loop of benchmarks that are measured in long steps."""
