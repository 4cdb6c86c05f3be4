"""Statements for servers: stages of maintenance, queries, and waits of sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from slowdust.store.waits import Wait, WaitKind, WaitSource
from slowdust.units import Second

T = TypeVar("T")

Row = Sequence[str | None]


@dataclass(frozen=True)
class Statements:
    """A stage of maintenance: statements that may run at the same time."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class WaitUntil:
    """A stage of maintenance that waits until background work of the server is done."""

    what: str
    """The awaited condition, in words: 'the dirty pages are written'."""
    statement: str
    is_done: Callable[[Sequence[Row]], bool]
    limit: Second
    """The longest wait; then the maintenance continues."""


@dataclass(frozen=True)
class WithSettings:
    """A stage of maintenance: other stages that run with temporary settings.

    The previous values are read from the server first and restored afterwards.
    """

    values: Mapping[str, str]
    """Setting -> value; they are set in this order and restored in the reverse order."""
    read: Callable[[str], str]
    """A function: name of a setting -> the statement that returns its value."""
    write: Callable[[str, str], str]
    """A function: name and value of a setting -> the statement that sets it."""
    stages: tuple[Stage, ...]


Stage = Statements | WaitUntil | WithSettings


@dataclass(frozen=True)
class Query(Generic[T]):
    """Statements, and the function that reads their answers."""

    statements: tuple[str, ...]
    read: Callable[[Sequence[Sequence[Row]]], T]
    """A function: the rows of each statement -> the result."""
    before: tuple[Stage, ...] = ()
    """The stages to run first, so that the server's numbers are current."""


def integer(answers: Sequence[Sequence[Row]]) -> int | None:
    """Read the only value of the only answer; None if it is NULL."""
    (((value,),),) = answers
    return None if value is None else int(value)


@dataclass(frozen=True)
class TotalledWaits:
    """Waits that the server adds up itself."""

    source: WaitSource
    totals: Query[list[Wait]]
    events: Query[list[str]]
    """The query for the names of all events that the server can report."""


@dataclass(frozen=True)
class SessionSample:
    """The state of one session at one moment."""

    at: float
    process: int
    event: str | None
    """The event that it waited for; None if it did not wait."""
    kind: WaitKind | None
    blockers: tuple[int, ...] = ()
    """Processes that hold the lock that it waited for."""


@dataclass(frozen=True)
class SampledWaits:
    """Waits from samples of all sessions."""

    source: WaitSource
    sessions: Query[list[SessionSample]]
    """The query, of one statement, for the state of all client sessions but its own."""


Waits = TotalledWaits | SampledWaits
