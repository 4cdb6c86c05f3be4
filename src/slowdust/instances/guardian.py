"""A process that outlives a killed Slowdust for a moment, to clean up after it.

Its standard input is a pipe that only the owner of a run directory holds: it ends when the owner
does, in whatever way. Run as `python -m slowdust.instances.guardian RUN_DIRECTORY`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from slowdust.instances.leftovers import clean_directory

_POLL_S = 0.05


def watch_over(directory: Path) -> subprocess.Popen[bytes]:
    """Start the guardian of a run directory; closing its standard input ends it."""
    return subprocess.Popen(
        # -P: what lies in the current directory must not stand in for our modules.
        [sys.executable, "-P", "-m", __name__, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C in the terminal is for the owner.
        start_new_session=True,
    )


def main() -> None:
    """Wait for the owner's end, then clean away what it left."""
    directory = Path(sys.argv[1])
    sys.stdin.buffer.read()
    # The kernel may close the owner's pipe a moment before it frees the owner's lock.
    while clean_directory(directory) is None and directory.exists():
        time.sleep(_POLL_S)


if __name__ == "__main__":
    main()
