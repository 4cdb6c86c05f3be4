"""A process that cleans up when the Slowdust that started it was killed.

Its standard input is a pipe that only the owner of a run directory holds, and that closes when the
owner ends, for whatever reason. Run as `python -m slowdust.instances.watchdog RUN_DIRECTORY`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from slowdust.instances.leftovers import clean_directory

_POLL_S = 0.05


def start_watchdog(directory: Path, claim: Sequence[int] = ()) -> subprocess.Popen[bytes]:
    """Start the watchdog of a run directory; closing its standard input ends it.

    It holds the open files of `claim` as long as it runs.
    """
    return subprocess.Popen(
        # -P: files of the current directory must not replace our modules.
        [sys.executable, "-P", "-m", __name__, str(directory)],
        pass_fds=claim,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # Ctrl-C in the terminal is for the owner.
        start_new_session=True,
    )


def main() -> None:
    directory = Path(sys.argv[1])
    sys.stdin.buffer.read()
    # The kernel may close the owner's pipe a moment before it frees the owner's lock.
    while clean_directory(directory) is None and directory.exists():
        time.sleep(_POLL_S)


if __name__ == "__main__":
    main()
