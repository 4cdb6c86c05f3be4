"""SQLite's settings, which are pragmas: of SQLite itself, and of servers that keep rows in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slowdust.dbms.family import Commit
from slowdust.errors import UsageError

KNOWN = (
    "analysis_limit",
    "auto_vacuum",
    "automatic_index",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "encoding",
    "foreign_keys",
    "fullfsync",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
)
"""Pragmas that are settings: others read, check or change the database."""
_FIRST = ("page_size", "auto_vacuum", "encoding", "journal_mode")
"""Settings that decide about others, or about a database that is still empty, in their order."""
_WORDS: Mapping[str, tuple[str, ...]] = {
    "synchronous": ("off", "normal", "full", "extra"),
    "temp_store": ("default", "file", "memory"),
    "auto_vacuum": ("none", "full", "incremental"),
}
"""Setting -> the words for its values 0, 1, ..."""
_NAMES: Mapping[str, tuple[str, ...]] = {
    "encoding": ("utf-8", "utf-16", "utf-16le", "utf-16be"),
    "journal_mode": ("delete", "truncate", "persist", "memory", "wal", "off"),
    "locking_mode": ("normal", "exclusive"),
}
"""Setting -> its values, where they are no numbers."""
_TRUTHS = {"on": "1", "yes": "1", "true": "1", "off": "0", "no": "0", "false": "0"}


def commit(settings: Mapping[str, str], journal_by_default: str) -> Commit:
    """Return whether a commit waits for the disk: with a write-ahead log from `full` on."""
    level = number("synchronous", settings.get("synchronous", "full"))
    journal = settings.get("journal_mode", journal_by_default).lower()
    needed = 2 if journal == "wal" else 1
    waits = level.isdigit() and int(level) >= needed and journal not in ("memory", "off")
    return Commit(waits, f"synchronous={settings.get('synchronous', 'full')}")


def cache_size(size: int) -> str:
    """Write a size in bytes as `cache_size` has it: KiB are negative, pages are positive."""
    return f"-{max(1, size >> 10)}"


def ordered(values: Mapping[str, str], dbms: str) -> list[tuple[str, str]]:
    """Return settings in the order in which they have to be set.

    Raises UsageError for a value that is neither a word nor a number.
    """
    for name, value in values.items():
        if not re.fullmatch(r"-?\w+(-\w+)*", value, re.ASCII):
            raise UsageError(f"{name!r} = {value!r} cannot be a setting of {dbms}")
    return sorted(values.items(), key=lambda item: (_place(item[0]), item[0]))


def number(name: str, value: str) -> str:
    """Return a value as SQLite writes it: most words are numbers."""
    word = value.lower()
    if word in _WORDS.get(name, ()):
        return str(_WORDS[name].index(word))
    return _TRUTHS.get(word, word)


def complaint(name: str, value: str) -> str | None:
    """Say what is wrong with a value, which SQLite would ignore; None where nothing is."""
    if name in _NAMES:
        if value.lower() in _NAMES[name]:
            return None
        return f"{name} = {value} (choose {', '.join(_NAMES[name])})"
    if number(name, value).removeprefix("-").isdigit():
        return None
    words = ", ".join(_WORDS.get(name, ()))
    return f"{name} = {value} ({f'choose {words}' if words else 'a number is needed'})"


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)
