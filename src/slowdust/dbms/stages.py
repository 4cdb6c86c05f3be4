"""What a server is told or asked: stages of maintenance, queries, and its sessions' waits."""

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
    """A stage of maintenance: a wait until the server reports that its background work is done."""

    what: str
    """The awaited condition, in words: 'the dirty pages are written'."""
    statement: str
    is_done: Callable[[Sequence[Row]], bool]
    limit: Second
    """The longest wait, after which the maintenance continues."""


@dataclass(frozen=True)
class WithSettings:
    """A stage of maintenance: other stages that run under changed settings of the server.

    The previous values are read from the server first, and are restored afterwards.
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
    """A function: the rows of each statement -> what they say."""
    before: tuple[Stage, ...] = ()
    """The stages after which the server's numbers are current."""


def integer(answers: Sequence[Sequence[Row]]) -> int | None:
    """Read the only value of the only answer; None where the server does not tell it."""
    (((value,),),) = answers
    return None if value is None else int(value)


@dataclass(frozen=True)
class TotalledWaits:
    """Waits that a server adds up itself, since some moment."""

    source: WaitSource
    totals: Query[list[Wait]]
    events: Query[list[str]]
    """The query for the events that the server would tell, were there any."""


@dataclass(frozen=True)
class SessionSample:
    """What one session did at one moment."""

    at: float
    process: int
    event: str | None
    """The event for which it waited; None where it did not wait."""
    kind: WaitKind | None
    blockers: tuple[int, ...] = ()
    """Processes that hold the lock for which it waited."""


@dataclass(frozen=True)
class SampledWaits:
    """Waits that are seen in samples."""

    source: WaitSource
    sessions: Query[list[SessionSample]]
    """The query, of one statement, for what the sessions of all clients but its own do."""


Waits = TotalledWaits | SampledWaits
