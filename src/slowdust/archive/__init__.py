"""Published runs of sysbench and the Insert Benchmark: reading them, and writing their files."""
