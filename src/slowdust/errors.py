"""What Slowdust raises when it cannot go on; each message is one line that names the fix."""

from __future__ import annotations


class SlowdustError(Exception):
    """The work was understood and failed; the command ends with exit code 1."""

    exit_code = 1


class UsageError(SlowdustError):
    """What was asked for cannot be right; the command ends with exit code 2."""

    exit_code = 2
