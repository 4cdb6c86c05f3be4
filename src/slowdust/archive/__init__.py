"""Published runs of sysbench and the Insert Benchmark: reading and writing their files.

The rate of a sysbench test passes through `files` (directories, packed runs),
`sysbench.directories` (the runs of an experiment), `run_directory` (bytes), `run_files` (printed
numbers), `rates` (the published rate), `slices`, `experiment` (the manifest), `exchange`, and the
folder of the store.
"""
