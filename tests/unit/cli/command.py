"""`slowdust` in the tests' process, for the tests of the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from slowdust.cli.main import main


class Outcome(NamedTuple):
    """One call of the command line."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line that says what is wrong, in a call that failed."""
        [line] = [line for line in self.err.splitlines() if line.startswith("slowdust:")]
        return line


Slowdust = Callable[..., Outcome]
"""Arguments of `slowdust` -> its exit code and what it printed."""


def call(
    arguments: tuple[object, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Outcome:
    """Run the command line with these arguments."""
    monkeypatch.setattr(sys, "argv", ["slowdust", *map(str, arguments)])
    # In `python -m pytest` too, texts of usage have the command's own name.
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_info:
        main()
    assert isinstance(exit_info.value.code, int)
    return Outcome(exit_info.value.code, *capsys.readouterr())


def spoken(value: object) -> str | None:
    """The words of a command as the name of its case, which stays as cases are added before it."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else None
