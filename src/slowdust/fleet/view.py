"""The view of a fleet on standard error: events and progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.status import Status

from slowdust.text import visible
from slowdust.units import Second

_PLAIN_EVERY: Second = 10.0


class FleetView:
    """Prints lines; on a terminal the last line is the state."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._status = status
        self._shown = time.monotonic()

    def event(self, text: str) -> None:
        self._console.print(visible(text), highlight=False, markup=False)

    def warning(self, text: str) -> None:
        warning = visible(f"warning: {text}")
        self._console.print(warning, style="yellow", highlight=False, markup=False)

    def show(self, state: str) -> None:
        """Show the state in one line; called repeatedly."""
        if self._console.is_terminal:
            self._status.update(visible(state))
        elif time.monotonic() - self._shown >= _PLAIN_EVERY:
            self._shown = time.monotonic()
            self.event(f"  {state}")


OpenFleetView = Callable[[], AbstractContextManager[FleetView]]


@contextmanager
def open_fleet_view() -> Iterator[FleetView]:
    console = Console(stderr=True, soft_wrap=True)
    with console.status("") as status:
        yield FleetView(console, status)
