"""The contenders of a running experiment: who is up, and what happens when one fails."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.builds import Build
from slowdust.dbms.instance import Instance, InstanceError
from slowdust.errors import SlowdustError
from slowdust.experiment.driver import TargetError
from slowdust.experiment.protocol import Target
from slowdust.probes.host import HostProbe
from slowdust.probes.process import ServerProbe

_LOG_LINES = 8


@dataclass
class Contender:
    """One contender while its experiment runs."""

    name: str
    build: Build
    instance: Instance
    failed: str | None = None
    """Why it dropped out, with the last lines of its log."""

    @property
    def target(self) -> Target:
        """How to reach its server."""
        return self.instance.target()

    @property
    def probe(self) -> ServerProbe:
        """The probe of its server's processes."""
        return ServerProbe(self.instance.pid)


@dataclass
class Field:
    """All contenders, in the order of the experiment; the first is the base."""

    contenders: list[Contender]
    host_probe: HostProbe
    on_failure: Callable[[Contender], None]
    logs: Path
    _incarnation: int = field(default=0)

    def running(self) -> list[Contender]:
        """Those that have not failed."""
        return [contender for contender in self.contenders if contender.failed is None]

    @contextmanager
    def guard(self, contender: Contender) -> Iterator[None]:
        """Turn a failure of the contender's server into its dropping out; the others go on.

        Raises:
            SlowdustError: nobody is left.
        """
        try:
            yield
        except (TargetError, InstanceError) as error:
            self._drop(contender, str(error))
            if not self.running():
                raise SlowdustError(
                    "no contender is left\n"
                    + "\n".join(f"{c.name}: {c.failed}" for c in self.contenders)
                ) from error

    def _drop(self, contender: Contender, reason: str) -> None:
        tail = contender.instance.log_tail(_LOG_LINES)
        contender.failed = "\n".join([reason, *tail])
        contender.instance.kill()
        self.keep_log(contender)
        self.on_failure(contender)

    def keep_log(self, contender: Contender) -> None:
        """Copy the server's log to the experiment's folder."""
        log = contender.instance.log
        if log.is_file():
            shutil.copyfile(log, self.logs / f"{contender.name.replace('/', '_')}.log")
