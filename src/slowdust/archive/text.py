"""Archived files as text: their lines, plain or compressed, and the numbers in them."""

from __future__ import annotations

import gzip
import math
import os
import re
import zlib
from pathlib import Path

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a damaged file can raise."""
_NUMBER = re.compile(r"(?:\d{1,18})?\.\d{1,18}|\d{1,18}", re.ASCII)


UNREADABLE_NAME = "its name is no UTF-8, or has control characters"


def readable(name: str) -> str:
    """A name of a file as text: bytes that are no UTF-8, and control characters, escaped."""
    if name.isprintable():
        return name
    text = os.fsencode(name).decode(errors="backslashreplace")
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def read_content(path: Path) -> bytes:
    """All of a file, decompressed. Raises one of `UNREADABLE`."""
    content = path.read_bytes()
    return gzip.decompress(content) if path.suffix == ".gz" else content


def lines_of(content: bytes) -> list[str]:
    """Its lines; what is no UTF-8 in them is replaced."""
    return content.decode(errors="replace").splitlines()


def number_of(cell: str) -> float | None:
    """The number that a cell of a table is, which bc may have written as `.5`.

    None for anything else: words, `nan`, `-1`, nothing.
    """
    return float(cell) if _NUMBER.fullmatch(cell) else None


def is_number(cell: str) -> bool:
    """Whether it is a finite one as awk prints it: unlike above, also `-1` and `2.5e-05`."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def counted(number: int, what: str) -> str:
    """'1 file', '1,200 files'."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
