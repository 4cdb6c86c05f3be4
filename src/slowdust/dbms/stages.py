"""What a server is to be told or asked: stages of maintenance, and queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from slowdust.units import Second

T = TypeVar("T")

Row = Sequence[str | None]
"""One row of a result, as text."""


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
    """The condition on the rows of the statement."""
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
"""Stages run one after the other."""


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
