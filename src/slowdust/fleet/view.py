"""Two views of a fleet: a live one in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from slowdust.experiment.live import suiting_terminal
from slowdust.formats.text import visible
from slowdust.units import Second, format_duration
from slowdust.wording import counted

_PLAIN_EVERY: Second = 10.0
_MOST_ROWS = 30
"""Hosts that the live view shows; it counts the others."""


@dataclass(frozen=True)
class Overview:
    """The state of a fleet."""

    hosts: Mapping[str, str | None]
    """Host -> the shard that it measures; None where it is idle."""
    left_out: Mapping[str, str]
    """Host -> why."""
    finished: int
    """Shards that are done, each as often as it is measured."""
    shards: int
    """Shards in all, likewise."""
    left: Second | None
    """Expected time to the end; None where no host is there."""

    @property
    def line(self) -> str:
        measuring = sum(shard is not None for shard in self.hosts.values())
        parts = [f"{counted(measuring, 'host')} of {len(self.hosts)} measure"]
        if self.left_out:
            parts.append(f"{len(self.left_out)} left out")
        parts.append(f"{self.finished} of {counted(self.shards, 'shard')} done")
        if self.left is not None:
            parts.append(f"about {format_duration(round(self.left))} left")
        return ", ".join(parts)


class FleetView(Protocol):
    """Receives what happens in a fleet."""

    def event(self, text: str) -> None:
        """Show what has happened."""

    def warning(self, text: str) -> None:
        """Show what the user should know, though it does not stop the experiment."""

    def show(self, overview: Overview) -> None:
        """Show the state; called again and again."""


OpenView = Callable[[], AbstractContextManager[FleetView]]


@contextmanager
def watching_fleet() -> Iterator[FleetView]:
    """Open the view that suits standard error."""
    with suiting_terminal(_PlainView, _LiveView) as view:
        yield view


class _PlainView:
    """Lines on standard error: one an event, and the state now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def event(self, text: str) -> None:
        print(visible(text), file=sys.stderr, flush=True)

    def warning(self, text: str) -> None:
        self.event(f"warning: {text}")

    def show(self, overview: Overview) -> None:
        if time.monotonic() - self._last >= _PLAIN_EVERY:
            self._last = time.monotonic()
            self.event(f"  {overview.line}")


class _LiveView:
    """A table of hosts below the events, which scroll away above it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._overview: Overview | None = None

    def __rich__(self) -> Group:
        if self._overview is None:
            return Group()
        table = Table.grid(padding=(0, 2))
        rows = [(host, shard or "idle") for host, shard in self._overview.hosts.items()]
        rows += [(host, f"left out: {why}") for host, why in self._overview.left_out.items()]
        for host, state in rows[:_MOST_ROWS]:
            table.add_row(Text(visible(host), style="bold"), Text(visible(state)))
        if len(rows) > _MOST_ROWS:
            table.add_row(f"and {counted(len(rows) - _MOST_ROWS, 'host')} more", "")
        return Group(table, Text(self._overview.line, style="dim"))

    def event(self, text: str) -> None:
        self._console.print(visible(text), highlight=False, markup=False)

    def warning(self, text: str) -> None:
        warning = visible(f"warning: {text}")
        self._console.print(warning, style="yellow", highlight=False, markup=False)

    def show(self, overview: Overview) -> None:
        self._overview = overview
