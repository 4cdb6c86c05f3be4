"""What an experiment needs of the server of a contender, whoever started it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from slowdust.dbms.access import Target
from slowdust.dbms.family import Shutdown
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.site import Served
from slowdust.probes.probe import Subject


class Server(Protocol):
    """The server of a contender; what it does not tell is None."""

    @property
    def site(self) -> Served:
        """The facts that its family needs."""
        ...

    @property
    def settings(self) -> AcceptedSettings:
        """The settings that it was given."""
        ...

    @property
    def subject(self) -> Subject | None:
        """The processes while it runs, for the probes."""
        ...

    @property
    def log_path(self) -> Path | None:
        """The file of its log."""
        ...

    @property
    def allocator(self) -> str | None:
        """The malloc library."""
        ...

    @property
    def freezing(self) -> str | None:
        """How it is made to stand still."""
        ...

    def target(self) -> Target:
        """Return its address for the driver."""
        ...

    def start(self) -> None:
        """Start it unless it runs. Raises InstanceError."""
        ...

    def stop(self, shutdown: Shutdown = Shutdown.ORDERLY) -> None:
        """Stop it if it runs."""
        ...

    def alive(self) -> bool:
        """Return whether it runs."""
        ...

    def check_alive(self) -> None:
        """Raise InstanceError when it does not run."""
        ...

    def freeze(self) -> None:
        """Let it stand still until `thaw`."""
        ...

    def thaw(self) -> None:
        """Let it go on."""
        ...

    def log_tail(self, lines: int) -> Sequence[str]:
        """Return the last lines of its log since the last start."""
        ...

    def remove(self) -> None:
        """Delete everything that it stored for Slowdust; a second call does nothing."""
        ...
