"""The ordinary client of a package registry, whose mirrors and proxies are respected."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath

from slowdust.accounts import ends_with_this_process
from slowdust.addresses import without_secrets
from slowdust.errors import SlowdustError
from slowdust.wording import cut

FETCH_TIMEOUT_S = 1800.0
_MESSAGE_CHARACTERS = 300


class SourceUnavailable(SlowdustError):  # noqa: N818 - a state of the world, not a fault
    """A source that cannot provide the build now, while another may.

    `remedy` says what the user can do about it, with '{name}' in the place of the build's name.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.remedy = remedy


def run_client(
    command: Sequence[str],
    folder: Path,
    complaint: Callable[[str, str], str | None],
    variables: Mapping[str, str] | None = None,
) -> str:
    """Run a client in a folder, with more variables in its environment, and return its output.

    `complaint` finds the client's error in its standard output and standard error. Raises
    SourceUnavailable with that, or else with the last line of the client's messages.
    """
    name = PurePath(command[0]).name
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=FETCH_TIMEOUT_S,
            check=False,
            preexec_fn=ends_with_this_process(),
        )
    except FileNotFoundError:
        raise SourceUnavailable(f"{name} is not installed") from None
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(f"{name} did not end within {FETCH_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        reason = complaint(done.stdout, done.stderr) or _last_line(done.stderr + done.stdout)
        reason = without_secrets(reason)  # as that of a proxy
        raise SourceUnavailable(f"{name}: {reason or f'exit code {done.returncode}'}")
    return done.stdout


def one_line(text: str) -> str:
    """Return a text without line breaks, short enough for a message."""
    return cut(" ".join(text.split()), _MESSAGE_CHARACTERS)


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else ""
