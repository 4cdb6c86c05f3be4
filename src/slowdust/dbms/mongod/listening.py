"""Where mongod listens."""

from __future__ import annotations

from pathlib import Path

from slowdust.dbms.documents.family import socket_in


def listening(sockets: Path, port: int, address: str | None = None) -> list[str]:
    """Return the options of a server that listens on its socket, and on this address if any.

    Without an address it would choose 127.0.0.1; the socket may stand in its place.
    """
    return [
        f"--bind_ip={address or socket_in(sockets, port)}",
        f"--port={port}",
        f"--unixSocketDirectory={sockets}",
    ]
