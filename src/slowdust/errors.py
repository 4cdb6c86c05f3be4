"""Errors that end a command with one clear line; the command line turns them into exit codes."""

from __future__ import annotations


class SlowdustError(Exception):
    """Something failed that the user should read about: exit code 1."""

    exit_code = 1


class UsageError(SlowdustError):
    """The command was asked for something it cannot mean: exit code 2."""

    exit_code = 2
