"""How a client reaches an instance."""

from __future__ import annotations

import enum
import secrets
import socket
from dataclasses import dataclass

import msgspec

USER = "slowdust"


class Listen(enum.Enum):
    """Where a server listens; never beyond this machine."""

    SOCKET = "socket"
    LOOPBACK = "loopback"
    """TCP on 127.0.0.1, beside the socket."""


class Auth(enum.Enum):
    """How a server knows its client."""

    TRUST = "trust"
    MD5 = "md5"
    SCRAM = "scram"
    NATIVE = "native"
    """MySQL's and MariaDB's own, `mysql_native_password`."""
    CACHING_SHA2 = "caching_sha2"


@dataclass(frozen=True)
class Access:
    """What the only user of an instance needs to connect."""

    listen: Listen = Listen.SOCKET
    auth: Auth = Auth.TRUST
    password: str | None = None

    @classmethod
    def make(cls, listen: Listen = Listen.SOCKET, auth: Auth = Auth.TRUST) -> Access:
        """Access with a new random password where one is needed."""
        return cls(listen, auth, None if auth is Auth.TRUST else secrets.token_hex(12))


class Target(msgspec.Struct, kw_only=True, frozen=True):
    """An instance as the driver is told of it."""

    dbms: str
    host: str | None
    socket: str | None
    port: int
    user: str
    password: str | None
    database: str
    engine: str | None = None
    """The storage engine in which tables are made, where the DBMS has several."""


def free_loopback_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
