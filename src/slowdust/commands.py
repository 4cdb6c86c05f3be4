"""Command lines of Slowdust, for reports that suggest them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

PROGRAM = "slowdust"


def command_line(words: Sequence[str], options: Mapping[str, object]) -> str:
    """Return a command, quoted for a shell.

    `options` is parameter -> value: 'rows_per_commit' becomes `--rows-per-commit`. True is a flag,
    a list repeats its option, None and False are omitted.
    """
    typed = [PROGRAM, *words]
    for parameter, value in options.items():
        option = f"--{parameter.replace('_', '-')}"
        if value is True:
            typed.append(option)
        elif isinstance(value, list):
            typed += [part for each in value for part in (option, str(each))]
        elif value is not None and value is not False:
            typed += [option, str(value)]
    return shlex.join(typed)
