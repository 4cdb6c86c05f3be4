"""Archived runs as contenders: their names, and the facts that the names of runs have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowdust.formats.sysbench.names import parse_run
from slowdust.formats.text import beginning
from slowdust.store.manifest import BuildFacts, ContenderFacts

UNKNOWN = "unknown"
_WITHOUT_KEY = ".pk0"
_MOST_LISTED = 4


def titles_of(order: Sequence[str]) -> dict[str, str]:
    """Name the contender of each run; runs that would be called alike keep their own names.

    Runs of tables without a primary key are told apart from those with one.
    """
    parsed = {run: parse_run(run) for run in order}
    titles = {run: (name and name.title) or run for run, name in parsed.items()}
    times = Counter(titles.values())
    for run, title in titles.items():
        if times[title] > 1 and title != run and run.endswith(_WITHOUT_KEY):
            titles[run] = f"{title}+{_WITHOUT_KEY[1:]}"
    times = Counter(titles.values())
    return {run: title if times[title] == 1 else run for run, title in titles.items()}


def facts_of(run: str, title: str) -> ContenderFacts:
    """Return the facts about a contender that the name of its run has."""
    name = parse_run(run)
    build = f"archived, compiled as {name.build}" if name and name.build else "archived"
    return ContenderFacts(
        name=title,
        dbms=name.dbms if name else UNKNOWN,
        build=BuildFacts(source=build, version=(name and name.version) or UNKNOWN),
        config=(name.config if name else None) or UNKNOWN,
        settings={},
        archived=run,
    )


def undecoded(contenders: Sequence[ContenderFacts]) -> list[str]:
    """Return a line on the contenders without a known version; none where all have one."""
    names = [contender.name for contender in contenders if contender.build.version == UNKNOWN]
    if not names:
        return []
    return [f"version not decoded: {beginning(names, _MOST_LISTED)}"]
