"""Insert Benchmark runs in directories, made into experiments."""
