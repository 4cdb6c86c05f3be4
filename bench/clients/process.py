"""Client programs: whether they are there, and the driver as a process that takes commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

PACKAGES = {
    "sysbench": "sysbench",
    "cc": "build-essential",
    "taskset": "util-linux",
    "pkg-config": "pkg-config",
    "go": "golang-go",
}
"""Debian's package of each program that a benchmark runs."""
LIBRARIES = {"libmongoc-1.0": "libmongoc-dev"}
"""Debian's package of each library, by its name for pkg-config, that a benchmark links."""


class MissingProgramError(SystemExit):
    """A benchmark needs a program or a library that this machine lacks."""


class ClientFailedError(Exception):
    """A client ended with an error, or its output was not understood."""


def check_programs(*programs: str) -> None:
    """Raise MissingProgramError where one of the programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise MissingProgramError(f"{program} is missing: apt-get install {PACKAGES[program]}")


def options_of_library(library: str) -> list[str]:
    """Return the compiler's options for a library; raise MissingProgramError where it is none."""
    check_programs("pkg-config")
    command = ["pkg-config", "--cflags", "--libs", library]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    if found.returncode != 0:
        raise MissingProgramError(f"{library} is missing: apt-get install {LIBRARIES[library]}")
    return found.stdout.split()


def execute(process: subprocess.Popen[str], command: dict[str, object]) -> dict[str, Any]:
    """Send the driver a command; return its terminal event."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(command), file=process.stdin, flush=True)
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "error":
            raise ClientFailedError(line)
        if event["event"] != "progress":
            return event
    raise ClientFailedError("the driver ended early")
