"""Client programs: checks that they are installed, and commands for the driver's process."""

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
        super().__init__(f"{', '.join(missing)} missing: run `{COMMAND}`")
        self.programs = missing


class ClientFailedError(Exception):
    """A client exited with an error, or its output is invalid."""


def check_programs(*names: str) -> None:
    """Raise MissingProgramError if one of the programs is not installed."""
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
    raise ClientFailedError("the driver exited early")
