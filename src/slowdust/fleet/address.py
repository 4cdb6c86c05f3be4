"""Addresses of clusters, HOST:PORT."""

from __future__ import annotations

import ipaddress
import os
import re
import socket

from slowdust.errors import SlowdustError, UsageError
from slowdust.units import Second

DEFAULT_ADDRESS = "127.0.0.1:6379"
"""The address of a head that was started on this machine."""
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
_ANSWERS_WITHIN: Second = 10.0


def host_of(address: str) -> str:
    """Return the host of an address.

    Raises:
        UsageError: it is none.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise UsageError(f"--fleet {address}: write HOST:PORT, for example {DEFAULT_ADDRESS}")
    return match[1]


def knock(address: str) -> None:
    """Refuse an address where nothing listens, for which Ray would wait for minutes.

    Raises:
        SlowdustError: nothing does.
    """
    host, port = host_of(address), int(address.rpartition(":")[2])
    try:
        socket.create_connection((host.strip("[]"), port), timeout=_ANSWERS_WITHIN).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise SlowdustError(f"no cluster is at {address}: {reason}") from error


def is_open(address: str) -> bool:
    """Return whether other machines reach a cluster that asks nobody for a token."""
    return not is_loopback(host_of(address)) and os.environ.get("RAY_AUTH_MODE") != "token"


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
