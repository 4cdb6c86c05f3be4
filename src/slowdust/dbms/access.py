"""Access of a client to an instance: where it listens and how the client is authenticated."""

from __future__ import annotations

import enum
import secrets
from dataclasses import dataclass

import msgspec

from slowdust.secret import Secret

USER = "slowdust"


class Listen(enum.Enum):
    """The places where a server listens. It is never reachable from other machines."""

    SOCKET = "socket"
    LOOPBACK = "loopback"
    """TCP on 127.0.0.1, in addition to the socket."""


class Auth(enum.Enum):
    """A server's methods to authenticate its client."""

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
    password: Secret | None = None
    encrypted: Access | None = None
    """The additional access by encrypted TCP on 127.0.0.1, if any."""

    @property
    def by_tcp(self) -> Access | None:
        """The access of clients by TCP, encrypted or not; None where the server has no port."""
        return self if self.listen is Listen.LOOPBACK else self.encrypted

    @classmethod
    def make(cls, listen: Listen = Listen.SOCKET, auth: Auth = Auth.TRUST) -> Access:
        """Make an access, with a new random password where one is needed."""
        return cls(listen, auth, None if auth is Auth.TRUST else Secret(secrets.token_hex(12)))


class Verify(enum.Enum):
    """The parts of a server's certificate that are verified."""

    NOTHING = "nothing"
    AUTHORITY = "authority"
    """The authority that signed it."""
    IDENTITY = "identity"
    """The authority and the name of the host."""


class Tls(msgspec.Struct, kw_only=True, frozen=True):
    """The encryption of a connection. All files are in PEM."""

    verify: Verify
    authorities: str | None = None
    """The file of the authorities; None for those that this machine trusts."""
    certificate: str | None = None
    """The file of the client's certificate, which needs a key."""
    key: str | None = None


class Names(enum.Enum):
    """The length of column names, for servers that store them in every row."""

    LONG = "long"
    SHORT = "short"


class Target(msgspec.Struct, kw_only=True, frozen=True):
    """The address of an instance as the driver receives it."""

    dbms: str
    protocol: str | None = None
    """The DBMS whose protocol and SQL the server speaks; None if it is `dbms`."""
    host: str | None
    socket: str | None
    port: int
    user: str
    password: Secret | None
    database: str
    engine: str | None = None
    """The storage engine of new tables, if the DBMS has several."""
    schema: str | None = None
    """The schema of the tables within the database, if the DBMS has schemas."""
    foreign: bool = False
    """Whether Slowdust did not start the server, which may run on another machine."""
    tls: Tls | None = None
    names: Names = Names.LONG
    journaled: bool = False
    """Whether each write waits for the disk, for protocols that let the client choose."""
    auth_source: str | None = None
    """The database that holds the user, for servers with users per database; None for `admin`."""
    patience: float | None = None
    """The longest wait for a reply of the server, in seconds; None for no limit."""
