"""Secrets: passwords and other texts that must not be printed or stored."""

from __future__ import annotations

from typing import NoReturn

HIDDEN = "***"
"""Stands in messages for a secret."""


class Secret:
    """A text that prints as `***`; `reveal` is the only way to read it.

    It can be neither pickled nor encoded as JSON, except with the hook `revealed`.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, to hand it to the program or server that it is for."""
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

    Raises NotImplementedError if it is no secret, but another type that msgspec does not know.
    """
    if isinstance(value, Secret):
        return value.reveal()
    raise NotImplementedError(f"{type(value).__name__} is no part of a command")
