"""What logs and statistics tell of statements."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Execution:
    """A statement that was executed, as a log has it."""

    text: str
    parameters: tuple[str | None, ...] = ()
    """The values of `$1` and so on, None for NULL; empty where they stand in the text."""


@dataclass(frozen=True)
class Digest:
    """A statement without its values, and how often it was executed, as statistics have it."""

    text: str
    calls: int
    example: str | None = None
    """One execution with its values."""


@dataclass(frozen=True)
class Seen:
    """All that a file tells of statements."""

    dialect: str
    """The DBMS that wrote it: `postgres` or `mysql`, which stands for MariaDB too."""
    what: str
    """The kind of file, in words."""
    executions: tuple[Execution, ...] = ()
    digests: tuple[Digest, ...] = ()
