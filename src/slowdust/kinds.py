"""The kinds of results of other programs that can be imported and written."""

from slowdust.archive.insert.experiment import InsertKind
from slowdust.archive.sysbench.experiment import SysbenchKind
from slowdust.exchange import Kind

KINDS: tuple[Kind, ...] = (SysbenchKind(), InsertKind())
"""All kinds; a file that two kinds own belongs to the first."""
