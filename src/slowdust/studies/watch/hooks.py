"""Hooks: a command that reads events from its standard input, and an address to post them to."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import msgspec

from slowdust.addresses import without_secrets
from slowdust.studies.watch.alarms import Channel, Delivery, Event
from slowdust.studies.watch.file import PostError, Watch
from slowdust.text import visible
from slowdust.units import Second, format_duration

COMMAND_TIME: Second = 60.0
"""Time limit of a command."""
_LONGEST_COMPLAINT = 200


class HookError(Exception):
    """A hook was not notified; the next night tries again."""


def deliver(
    deliveries: Sequence[Delivery],
    watch: Watch,
    payload_of: Callable[[Delivery], Mapping[str, object]],
    warn: Callable[[str], None],
    time_limit: Second = COMMAND_TIME,
) -> list[Delivery]:
    """Notify hooks of pending events; return the deliveries that failed.

    Events of a hook that is no longer in the file are dropped.
    """
    left = []
    for delivery in deliveries:
        content = msgspec.json.encode(payload_of(delivery))
        failed = []
        for channel in delivery.pending:
            try:
                _notify(channel, delivery.event, watch, content, time_limit)
            except HookError as error:
                warn(f"{error}; the next night will try again")
                failed.append(channel)
        if failed:
            left.append(msgspec.structs.replace(delivery, pending=failed))
    return left


def _notify(
    channel: Channel, event: Event, watch: Watch, content: bytes, time_limit: Second
) -> None:
    table = watch.table
    if channel is Channel.WEBHOOK:
        if table.webhook is not None:
            try:
                table.webhook.post(content)
            except PostError as error:
                raise HookError(f"webhook: {error}") from None
        return
    command = table.on_regression if event is Event.REGRESSION else table.on_recovery
    if command is not None:
        _run(f"on_{event}", command, watch.folder, content, time_limit)


def _run(key: str, command: str, folder: Path, content: bytes, time_limit: Second) -> None:
    """Run a command without a shell, in the folder of the file; it reads JSON.

    Messages name only the program: its arguments may be secrets.

    Raises:
        HookError: it cannot be started, fails, or takes too long and is killed.
    """
    # Files and not pipes: a process that the command leaves running could hold pipes open.
    with TemporaryFile() as given, TemporaryFile() as complaint:
        given.write(content)
        given.seek(0)
        words = shlex.split(command)
        program = words[0].partition("=")[0]  # variables before a command need a shell
        try:
            process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=complaint,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise HookError(f"{key}: cannot run {program}: {reason}") from None
        try:
            code = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with its children
            process.wait()
            raise HookError(
                f"{key}: {program} took longer than {format_duration(time_limit)} and was killed"
            ) from None
        if code:
            complaint.seek(0)
            said = visible(complaint.read(_LONGEST_COMPLAINT).decode(errors="replace").strip())
            first = without_secrets(said.partition("\n")[0])
            raise HookError(
                f"{key}: {program} failed with code {code}{f': {first}' if first else ''}"
            )
