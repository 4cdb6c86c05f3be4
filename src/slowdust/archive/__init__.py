"""Published runs of sysbench and the Insert Benchmark: reading them, and writing their files."""

from slowdust.archive.insert.kind import InsertKind
from slowdust.archive.sysbench.kind import SysbenchKind

KINDS = (SysbenchKind(), InsertKind())
