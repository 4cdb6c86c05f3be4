"""Errors that end a command with one message and an exit code."""

from __future__ import annotations


class SlowdustError(Exception):
    """A failure with a message for the user: exit code 1."""

    exit_code = 1


class HostError(SlowdustError):
    """A failure of this machine that does not depend on the command."""


class UsageError(SlowdustError):
    """An invalid command, file or variable: exit code 2."""

    exit_code = 2
