"""A process that cleans up if the Slowdust that started it is killed.

Its standard input is a pipe that only the owner of a run directory holds, and that closes when the
owner exits for any reason. Run as `python -m slowdust.instances.watchdog RUN_DIRECTORY`.
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
    """Start the watchdog of a run directory; it exits when its standard input is closed.

    It holds the open descriptors in `claim` while it is running.
    """
    return subprocess.Popen(
        # -P: files in the current directory must not replace our modules.
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
    # The kernel may close the owner's pipe slightly before it releases the owner's lock.
    while clean_directory(directory) is None and directory.exists():
        time.sleep(_POLL_S)


if __name__ == "__main__":
    main()
