"""Contenders of which one runs while the servers of the others stand still."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender

MakeFreezer = Callable[[Sequence[RunningContender], Callable[[str], None]], "Freezer"]
"""Makes a `Freezer` of contenders, and of what shows its warnings."""


class Freezer:
    """A context manager, with whose exit all servers go on."""

    def __init__(self, contenders: Sequence[RunningContender], warn: Callable[[str], None]) -> None:
        self._contenders = contenders
        self._warn = warn

    def __enter__(self) -> Freezer:
        return self

    def __exit__(self, *error: object) -> None:
        self.let_all_run()

    def let_all_run(self) -> None:
        """Let the servers of all contenders go on."""
        for contender in self._contenders:
            if contender.failed is None:
                contender.server.thaw()

    def let_run(self, chosen: RunningContender) -> None:
        """Let the server of one contender run, and those of the others stand still."""
        for contender in self._contenders:
            if contender is not chosen and contender.failed is None:
                try:
                    contender.server.freeze()
                except SlowdustError as error:
                    self._warn(f"{contender.name} works beside {chosen.name}: {error}")
        chosen.server.thaw()
