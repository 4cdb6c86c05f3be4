"""Published runs of sysbench and the Insert Benchmark: reading them, and writing their files."""

from slowdust.archive.insert.experiment import InsertKind
from slowdust.archive.sysbench.experiment import SysbenchKind

KINDS = (SysbenchKind(), InsertKind())
