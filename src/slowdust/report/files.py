"""Pages as files: their names, and the pages that they replace."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from slowdust.analysis.model import Report
from slowdust.errors import UsageError
from slowdust.places import check_regular
from slowdust.store.storage import replace_file

_TITLE = re.compile(
    r'<title>(.*?) · Slowdust</title>\s*(?:<meta name="base" content="([^"]*)">)?', re.DOTALL
)
_HEAD = 4096
"""Characters at the beginning of a page, which include its title."""


def page_name(report: Report, first: str, group: str | None = None) -> str:
    """Return the name of the page in its experiment's folder.

    A page with another base than the `first` contender, or about a `group` of hosts, has a name of
    its own.
    """
    base = "" if report.base == first else f"-beside-{_plain(report.base)}"
    hosts = "" if group is None else f"-on-{_plain(group)}"
    return f"report{base}{hosts}.html"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")


def write_page(path: Path, page: str) -> str | None:
    """Write a page; return the subject of another page that it replaces, if there was one.

    Raises:
        UsageError: the file exists and is not a page of Slowdust.
        SlowdustError: it cannot be written.
    """
    check_regular(path)
    replaced = None
    now_named, now_base = _subject(page[:_HEAD]) or ("", None)
    if path.is_file() and path.stat().st_size:
        with path.open(encoding="utf-8", errors="replace") as file:
            before = _subject(file.read(_HEAD))
        if before is None:
            raise UsageError(f"{path} exists and is not a page of Slowdust: choose another file")
        named, base = before
        if (named, base or now_base) != (now_named, now_base):  # earlier pages have no base
            replaced = named if base is None else f"{named} (base {base})"
    replace_file(path, page.encode())
    return replaced


def _subject(head: str) -> tuple[str, str | None] | None:
    """Return the subject of a page and its base; None of any other file."""
    match = _TITLE.search(head)
    if match is None:
        return None
    return unescape(match[1]), None if match[2] is None else unescape(match[2])
