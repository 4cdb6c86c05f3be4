"""Hooks: a command that reads an event, and an address that it is posted to."""

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

from slowdust.formats.text import visible
from slowdust.units import Second, format_duration
from slowdust.watching.alarms import Channel, Delivery, Event
from slowdust.watching.file import Watch

COMMAND_TIME: Second = 60.0
"""Time that a command has."""
_POST_TIME: Second = 20.0
_LONGEST_COMPLAINT = 200


class HookError(Exception):
    """A hook that was not told; it is told again in the next night."""


def deliver(
    deliveries: Sequence[Delivery],
    watch: Watch,
    payload_of: Callable[[Delivery], Mapping[str, object]],
    warn: Callable[[str], None],
    time_limit: Second = COMMAND_TIME,
) -> list[Delivery]:
    """Tell every hook what is pending; return what could not be told.

    An event whose hook is no longer in the file is told no more.
    """
    left = []
    for delivery in deliveries:
        content = msgspec.json.encode(payload_of(delivery))
        failed = []
        for channel in delivery.pending:
            try:
                _tell(channel, delivery.event, watch, content, time_limit)
            except HookError as error:
                warn(f"{error}; it is told again in the next night")
                failed.append(channel)
        if failed:
            left.append(msgspec.structs.replace(delivery, pending=failed))
    return left


def _tell(channel: Channel, event: Event, watch: Watch, content: bytes, time_limit: Second) -> None:
    table = watch.table
    if channel is Channel.WEBHOOK:
        if table.webhook is not None:
            _post(table.webhook, content)
        return
    command = table.on_regression if event is Event.REGRESSION else table.on_recovery
    if command is not None:
        _run(f"on_{event}", command, watch.folder, content, time_limit)


def _run(key: str, command: str, folder: Path, content: bytes, time_limit: Second) -> None:
    """Run a command without a shell, in the folder of the file; it reads JSON.

    Raises:
        HookError: it cannot be started, fails, or takes too long, and is ended then.
    """
    # Files, since what the command leaves running may hold pipes open.
    with TemporaryFile() as given, TemporaryFile() as complaint:
        given.write(content)
        given.seek(0)
        try:
            process = subprocess.Popen(
                shlex.split(command),
                cwd=folder,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=complaint,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise HookError(f"{key}: cannot run {command}: {reason}") from None
        try:
            code = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it has started
            process.wait()
            raise HookError(
                f"{key}: {command} took longer than {format_duration(time_limit)}"
            ) from None
        if code:
            complaint.seek(0)
            said = visible(complaint.read(_LONGEST_COMPLAINT).decode(errors="replace").strip())
            first = said.partition("\n")[0]
            raise HookError(
                f"{key}: {command} failed with code {code}{f': {first}' if first else ''}"
            )


def _post(address: str, content: bytes) -> None:
    """Post JSON to an address.

    Raises:
        HookError: it cannot be reached, or refuses. The address may be a secret: it is not told.
    """
    import urllib3

    timeout = urllib3.Timeout(total=_POST_TIME)
    try:
        with urllib3.PoolManager(timeout=timeout, retries=False) as pool:
            headers = {"Content-Type": "application/json", "User-Agent": "slowdust"}
            # The answer's status is all that counts: its body may never end.
            answer = pool.request(
                "POST", address, body=content, headers=headers, preload_content=False
            )
            answer.close()
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        raise HookError(f"webhook: {type(error).__name__}") from None
    if not 200 <= answer.status < 300:
        raise HookError(f"webhook: the answer was {answer.status}")
