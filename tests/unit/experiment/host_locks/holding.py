"""Another process that holds locks of the host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROGRAM = """
import sys
from slowdust.experiment.host_locks import Holder, held
with held(sys.argv[1:], Holder.here("theirs")):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process_holds(directory: Path, *names: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the locks until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *names],
        env={**os.environ, "SLOWDUST_CLAIMS": str(directory)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
