"""Errors that end a command with one message and an exit code."""

from __future__ import annotations


class SlowdustError(Exception):
    """A failure with a message for the user: exit code 1."""

    exit_code = 1


class HostError(SlowdustError):
    """A failure of this machine, which would be the same whatever was asked for."""


class UsageError(SlowdustError):
    """A command, file or variable that makes no sense as written: exit code 2."""

    exit_code = 2
