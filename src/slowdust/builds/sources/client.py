"""Running the ordinary client of a package registry, so that mirrors and proxies are respected."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from slowdust.errors import SlowdustError

FETCH_TIMEOUT_S = 1800.0
_MESSAGE_CHARACTERS = 300
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class SourceUnavailable(SlowdustError):  # noqa: N818 - a state of the world, not a fault
    """This source cannot give the build now; another may."""


def run_client(command: Sequence[str], folder: Path) -> str:
    """Run a client in a folder; returns what it printed.

    Raises SourceUnavailable with the end of the client's own message.
    """
    name = command[0]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=FETCH_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise SourceUnavailable(f"{name} is not installed") from None
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(f"{name} did not end within {FETCH_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        message = complaint(done.stderr + "\n" + done.stdout)
        raise SourceUnavailable(f"{name}: {message or f'exit code {done.returncode}'}")
    return done.stdout


def complaint(output: str) -> str:
    """The part of a client's output that says what went wrong, in one line."""
    lines = [_COLOURS.sub("", line).strip() for line in output.splitlines()]
    lines = [line for line in lines if line]
    told = [
        re.sub(r"^(npm (error|ERR!)|\[ERROR\])\s*", "", line)
        for line in lines
        if re.match(r"npm (error|ERR!)|\[ERROR\]", line)
    ]
    told = [line for line in told if line and not _is_advice(line)] or lines[-2:]
    text = re.sub(r"\s*-> \[Help \d+\].*", "", "; ".join(told))
    return text if len(text) <= _MESSAGE_CHARACTERS else "..." + text[-_MESSAGE_CHARACTERS:]


def _is_advice(line: str) -> bool:
    return bool(
        re.match(r"A complete log|To see the full|Re-run Maven|For more information|\[Help", line)
    )
