"""Client programs: whether they are there, and the driver as a process that takes commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

PACKAGES = {"sysbench": "sysbench", "cc": "build-essential", "taskset": "util-linux"}
"""Debian's package of each program that a benchmark runs."""


class MissingProgramError(SystemExit):
    """A benchmark needs a program that this machine lacks."""


class ClientFailedError(Exception):
    """A client ended with an error, or its output was not understood."""


def check_programs(*programs: str) -> None:
    """Raise MissingProgramError where one of the programs is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise MissingProgramError(f"{program} is missing: apt-get install {PACKAGES[program]}")


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
