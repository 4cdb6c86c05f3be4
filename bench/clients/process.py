"""Client programs: whether they are there, and the driver as a process that takes commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from tests.tiers import programs
from tests.tiers.programs import COMMAND


class MissingProgramError(SystemExit):
    """A benchmark needs programs that this machine lacks."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(f"{', '.join(missing)} missing: `{COMMAND}` installs what benchmarks need")
        self.programs = missing


class ClientFailedError(Exception):
    """A client ended with an error, or its output was not understood."""


def check_programs(*names: str) -> None:
    """Raise MissingProgramError where one of the programs is not installed."""
    if lacking := programs.missing(*names):
        raise MissingProgramError(lacking)


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
