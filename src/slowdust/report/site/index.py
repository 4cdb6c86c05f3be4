"""The index of a site: all experiments, with search and tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import Enum

from slowdust.report.html.environment import environment, shipped
from slowdust.report.site.entry import Entry


class Pairs(Enum):
    """The pairs of experiments that a site has a page of differences for."""

    PREVIOUS = "previous"
    """An experiment and the one before it that can be compared with it."""
    ANY = "any"


def render(entries: Sequence[Entry], paths: Mapping[str, str], pairs: Pairs) -> str:
    """Return the index; `paths` has name -> the path of its page, of those that have one."""
    tags = Counter(tag for entry in entries for tag in entry.annotation.tags)
    return (
        environment()
        .get_template("site.html")
        .render(
            entries=entries,
            paths=paths,
            pairs=pairs.value,
            with_work=any(entry.work for entry in entries),
            tags=sorted(tags.items()),
            style=shipped("page.css", "site.css"),
            script=shipped("site.js"),
        )
    )
