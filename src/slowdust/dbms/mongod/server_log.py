"""What mongod prints about errors: documents since 4.4, lines of text before.

What it says about its options, before there is a log, are lines of text in many versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

_SEVERE = ("E", "F")
_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+ ([A-Z]\d?) +\S+ +\[[^\]]*\] (.*)")
"""A line of text: its time, severity, component and thread, then what it says."""
_ENDING = "exception in initAndListen"
"""The beginning of a line that says why the server ends, with the severity of information."""
_HINT = re.compile(r"try '.*' for more information", re.IGNORECASE)


def first_error(lines: Iterable[str]) -> str | None:
    """Return what the first line about an error says; None where there is none."""
    errors = (error_in(line) for line in lines)
    return next((error for error in errors if error), None)


def error_in(line: str) -> str | None:
    """Return what a line says about an error; None for other lines."""
    line = line.strip()
    if line.startswith("{"):
        return _error_in_document(line)
    logged = _LINE.fullmatch(line)
    if logged is None:
        return None if _HINT.fullmatch(line) else line or None
    severity, said = logged.groups()
    return said if severity in _SEVERE or said.startswith(_ENDING) else None


def _error_in_document(line: str) -> str | None:
    try:
        entry = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return line
    if entry.get("s") not in _SEVERE:
        return None
    attributes = entry.get("attr")
    reason = attributes.get("error") if isinstance(attributes, dict) else None
    if isinstance(reason, dict):
        reason = reason.get("errmsg") or reason.get("message")
    said = str(entry.get("msg", ""))
    return f"{said}: {reason}" if reason else said
