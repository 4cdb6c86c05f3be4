"""Addresses of clusters, HOST:PORT."""

from __future__ import annotations

import os
import re
import socket

from slowdust.addresses import is_loopback
from slowdust.errors import SlowdustError, UsageError
from slowdust.units import Second

DEFAULT_ADDRESS = "127.0.0.1:6379"
"""The address of a head that was started on this machine."""
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):(\d{1,5})")
_ANSWERS_WITHIN: Second = 10.0
_SETTINGS = 4
"""The type of the first frame that an HTTP/2 server sends (RFC 9113, 3.4)."""
_FRAME_HEADER = 9
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0])
"""The preface of an HTTP/2 client: the magic words and empty settings."""


def host_of(address: str) -> str:
    """Return the host of an address.

    Raises:
        UsageError: it is none.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise UsageError(
            f"'{address}' is no address of a cluster: write HOST:PORT, for example "
            f"{DEFAULT_ADDRESS}"
        )
    return match[1]


def knock(address: str) -> None:
    """Refuse an address where no cluster answers, for which Ray would wait for minutes.

    Ray speaks gRPC, whose servers greet whoever greets them. With TLS it is left to Ray.

    Raises:
        SlowdustError: nothing listens there, or something else does.
    """
    host, port = host_of(address), int(address.rpartition(":")[2])
    is_encrypted = os.environ.get("RAY_USE_TLS", "0") not in ("", "0")
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=_ANSWERS_WITHIN) as server:
            server.sendall(_GREETING)
            answer = b"" if is_encrypted else server.recv(_FRAME_HEADER)
    except OSError as error:
        reason = error.strerror or str(error)
        raise SlowdustError(f"no cluster is at {address}: {reason}") from error
    if not is_encrypted and (len(answer) < _FRAME_HEADER or answer[3] != _SETTINGS):
        raise SlowdustError(f"no cluster is at {address}: what listens there is not Ray")


def is_open(address: str) -> bool:
    """Return whether other machines reach a cluster that asks nobody for a token."""
    return not is_loopback(host_of(address)) and os.environ.get("RAY_AUTH_MODE") != "token"
