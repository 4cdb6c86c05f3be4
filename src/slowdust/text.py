"""Text of files and names: safe to show, decompressed, and the numbers in it."""

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
"""Bytes that a file may have, decompressed; the largest of real archives have a few million."""
_HOLE = b"\0"
_COMPRESSED = ".gz"
_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and the end of a line, and marks of a text's direction."""
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "r": "\r"}
_MAY_HAVE_COMMANDS = re.compile(rb"\\u(?:00|20)|\\[bfr]|\x7f|\xc2[\x80-\x9f]|\xe2[\x80\x81]")


class DamagedError(Exception):
    """Nothing of a file can be used; its message says why, in words."""


def readable(name: str) -> str:
    """Return the name of a file as text: control characters and bytes that are no UTF-8 escaped."""
    if name.isprintable():
        return name
    text = os.fsencode(name).decode(errors="backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def visible(text: str) -> str:
    """Return a text without what commands a terminal: such characters are written as `\\x1b`.

    Ends of lines and tabs stay.
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_in_json(content: bytes) -> bytes:
    """Return JSON whose texts are `visible`; unchanged where it is not UTF-8."""
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
    """Return the name of a file without the ending of a compressed one."""
    return name.removesuffix(_COMPRESSED)


def read_content(path: str | Path) -> bytes:
    """Read a file of text, decompressed.

    Raises:
        DamagedError: it cannot be read, or there is nothing in it, or it is no text.
    """
    if Path(path).is_fifo():
        raise DamagedError("it is a pipe, which may never end")
    try:
        with Path(path).open("rb") as file:
            compressed = str(path).endswith(_COMPRESSED)
            content = read_bounded(gzip.GzipFile(fileobj=file) if compressed else file)
    except (OSError, EOFError, zlib.error) as error:
        raise DamagedError(unreadable(error)) from error
    if not content.strip():
        raise DamagedError("empty")
    if _HOLE in content:
        raise DamagedError("there are NUL bytes in it: a hole, or no text")
    return content


def read_bounded(file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Read all of a file that may be a few bytes of gzip for gigabytes of blanks.

    Raises:
        DamagedError: it has more than any file that is read here.
    """
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise DamagedError(f"it has more than {_MOST_BYTES >> 20} MB")
    return content


def unreadable(error: Exception) -> str:
    """Return why something cannot be read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"cannot be read: {reason}"


def collation(name: str) -> str:
    """Return a key for the order of en_US: letters and digits alone, whatever their case."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


def lines_of(content: bytes) -> list[str]:
    """Return the lines of a file, `visible`; what is no UTF-8 in them is replaced."""
    lines = content.decode(errors="replace").splitlines()
    return [visible(line) for line in lines]


def ends_whole(content: bytes) -> bool:
    """Return whether the last line has an end; else it may be cut in the middle of a number."""
    return content.endswith(b"\n")


def number_of(cell: str) -> float | None:
    """Return the number in a cell of a table, which bc may have written as `.5`.

    None for anything else: words, `nan`, `-1`, nothing.
    """
    return float(cell) if _NUMBER.fullmatch(cell) else None


def is_number(cell: str) -> bool:
    """Return whether a cell is a number as awk prints it: also `-1` and `2.5e-05`.

    A number that nobody measures is none: `inf`, `1e300`, `1e-300`.
    """
    try:
        value = abs(float(cell))
    except ValueError:
        return False
    return value == 0 or _SMALLEST <= value < _LARGEST


def beginning(parts: Sequence[str], most: int, between: str = ", ", last: str = " and") -> str:
    """Return the first `most` of `parts`, and how many more there are: 'a, b and 3 more'."""
    more = f"{last} {len(parts) - most:,} more" if len(parts) > most else ""
    return f"{between.join(parts[:most])}{more}"
