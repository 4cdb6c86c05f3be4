"""Secrets: passwords and other texts that must not be printed or stored."""

from __future__ import annotations

from typing import NoReturn

HIDDEN = "***"
"""Replaces a secret in messages."""


class Secret:
    """A string that prints as `***`; only `reveal` returns it.

    It cannot be pickled, and can be encoded as JSON only with the hook `revealed`.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, for the program or server that needs it."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret cannot be pickled")


def revealed(value: object) -> str:
    """Return the text of a secret for msgspec, which encodes the driver's commands.

    Raises NotImplementedError for other types that msgspec does not know.
    """
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(f"a command cannot contain {type(value).__name__}")
