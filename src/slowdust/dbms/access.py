"""Access of a client to an instance: where it listens and how the client is authenticated."""

from __future__ import annotations

import enum
import secrets
from dataclasses import dataclass

import msgspec

USER = "slowdust"


class Listen(enum.Enum):
    """The places where a server listens, never beyond this machine."""

    SOCKET = "socket"
    LOOPBACK = "loopback"
    """TCP on 127.0.0.1, in addition to the socket."""


class Auth(enum.Enum):
    """Methods by which a server authenticates its client."""

    TRUST = "trust"
    MD5 = "md5"
    SCRAM = "scram"
    NATIVE = "native"
    """`mysql_native_password` of MySQL and MariaDB."""
    CACHING_SHA2 = "caching_sha2"


@dataclass(frozen=True)
class Access:
    """The address and credentials that the only user of an instance connects with."""

    listen: Listen = Listen.SOCKET
    auth: Auth = Auth.TRUST
    password: str | None = None

    @classmethod
    def make(cls, listen: Listen = Listen.SOCKET, auth: Auth = Auth.TRUST) -> Access:
        """Make an access, with a new random password where one is needed."""
        return cls(listen, auth, None if auth is Auth.TRUST else secrets.token_hex(12))


class Target(msgspec.Struct, kw_only=True, frozen=True):
    """The address of an instance as the driver is given it."""

    dbms: str
    host: str | None
    socket: str | None
    port: int
    user: str
    password: str | None
    database: str
    engine: str | None = None
    """The storage engine of new tables, where the DBMS has several."""
