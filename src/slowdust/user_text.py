"""User text, in files and environment variables, which may not be UTF-8."""

from __future__ import annotations

import os
from pathlib import Path

from slowdust.errors import UsageError
from slowdust.places import check_regular


def read_user_text(path: Path) -> str:
    """Return the text of a user's file.

    Raises UsageError if it cannot be read, is not a regular file, or is not UTF-8; the message has
    the position of the first wrong byte.
    """
    check_regular(path)
    try:
        return path.read_text(encoding="utf-8-sig")  # Windows' editors write a byte order mark
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from None


def environment_text(name: str) -> str | None:
    """Return the value of an environment variable; None if it is not set or empty.

    Raises:
        UsageError: it is not UTF-8. The message omits the value, which may be a secret.
    """
    value = os.environ.get(name) or None
    if value is not None and (wrong := first_wrong_byte(value)) is not None:
        raise UsageError(f"the environment variable {name} is not UTF-8 (byte {wrong})")
    return value


def first_wrong_byte(text: str) -> int | None:
    """Return the position of the first byte that is not UTF-8; None if all of it is."""
    try:
        os.fsencode(text).decode()
    except UnicodeDecodeError as error:
        return error.start
    except UnicodeEncodeError as error:  # a surrogate that does not stand for a byte
        return error.start
    return None
