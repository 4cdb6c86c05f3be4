"""Text of files and names: safe for terminals, decompressed, and parsed as numbers."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

_NUMBER = re.compile(r"(?:\d{1,18})?\.\d{1,18}|\d{1,18}", re.ASCII)
_SMALLEST, _LARGEST = 1e-18, 1e18
_MOST_BYTES = 64 << 20
"""Maximum number of bytes of a decompressed file; real archives have files of a few million."""
_HOLE = b"\0"
_COMPRESSED = ".gz"
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, and marks of text direction."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "r": "\r"}
_MAY_HAVE_COMMANDS = re.compile(rb"\\u(?:00|20)|\\[bfr]|\x7f|\xc2[\x80-\x9f]|\xe2[\x80\x81]")


class DamagedError(Exception):
    """A file cannot be used at all; the message has the reason."""


def readable(name: str) -> str:
    """Return the name of a file as text, with control characters and non-UTF-8 bytes escaped."""
    if name.isprintable():
        return name
    text = os.fsencode(name).decode(errors="backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def visible(text: str) -> str:
    """Return text that is safe for a terminal: control characters are written as `\\x1b`.

    Line ends and tabs stay.
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_in_json(content: bytes) -> bytes:
    """Return JSON with `visible` texts; unchanged if it is not UTF-8."""
    if not _MAY_HAVE_COMMANDS.search(content):
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content

    def escaped(letter: str) -> str:
        return visible(letter).replace("\\", "\\\\")

    def visible_escape(found: re.Match[str]) -> str:
        letter = chr(int(found[1], 16)) if found[1] else _SHORT.get(found[2], "")
        return escaped(letter) if _COMMANDS.fullmatch(letter) else found[0]

    text = _COMMANDS.sub(lambda found: escaped(found[0]), text)
    return _ESCAPED.sub(visible_escape, text).encode()


def plain(name: str) -> str:
    """Return the name of a file without `.gz`."""
    return name.removesuffix(_COMPRESSED)


def read_content(path: str | Path) -> bytes:
    """Read a text file, decompressed.

    Raises:
        DamagedError: it cannot be read, is empty, or is not text.
    """
    if Path(path).is_fifo():
        raise DamagedError("it is a pipe")
    try:
        with Path(path).open("rb") as file:
            compressed = str(path).endswith(_COMPRESSED)
            content = read_bounded(gzip.GzipFile(fileobj=file) if compressed else file)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(unreadable(error)) from error
    if not content.strip():
        raise DamagedError("empty")
    if _HOLE in content:
        raise DamagedError("it contains NUL bytes")
    return content


def read_bounded(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Read a whole file; a few bytes of gzip may stand for gigabytes.

    Raises:
        DamagedError: it is larger than any file that is read here.
    """
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise DamagedError(f"it has more than {_MOST_BYTES >> 20} MB")
    return content


def unreadable(error: Exception) -> str:
    """Return why a file cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"cannot be read: {reason}"


def collation(name: str) -> str:
    """Return a sort key for the order of en_US: letters and digits only, without case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a file, `visible`; bytes that are not UTF-8 are replaced."""
    lines = content.decode(errors="replace").splitlines()
    return [visible(line) for line in lines]


def ends_whole(content: bytes) -> bool:
    """Return whether the last line is complete; otherwise it may be cut within a number."""
    return content.endswith(b"\n")


def number_of(cell: str) -> float | None:
    """Return the number in a cell of a table; bc writes `.5`.

    None for anything else: words, `nan`, `-1`, an empty cell.
    """
    return float(cell) if _NUMBER.fullmatch(cell) else None


def is_number(cell: str) -> bool:
    """Return whether a cell is a number as awk prints it, such as `-1` and `2.5e-05`.

    Implausible numbers do not count: `inf`, `1e300`, `1e-300`.
    """
    try:
        value = abs(float(cell))
    except ValueError:
        return False
    return value == 0 or _SMALLEST <= value < _LARGEST


def beginning(parts: Sequence[str], most: int, between: str = ", ", last: str = " and") -> str:
    """Return the first `most` of `parts`, and the number of the others: 'a, b and 3 more'."""
    more = f"{last} {len(parts) - most:,} more" if len(parts) > most else ""
    return f"{between.join(parts[:most])}{more}"
