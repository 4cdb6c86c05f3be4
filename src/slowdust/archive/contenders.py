"""Archived runs as contenders: what they are called, and what their names say of them."""

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
    """Run -> contender; runs that would be called alike keep their own names.

    Those of tables without a primary key are told apart from those with one.
    """
    said = {run: parse_run(run) for run in order}
    titles = {run: (name and name.title) or run for run, name in said.items()}
    times = Counter(titles.values())
    for run, title in titles.items():
        if times[title] > 1 and title != run and run.endswith(_WITHOUT_KEY):
            titles[run] = f"{title}+{_WITHOUT_KEY[1:]}"
    times = Counter(titles.values())
    return {run: title if times[title] == 1 else run for run, title in titles.items()}


def facts_of(run: str, title: str) -> ContenderFacts:
    """What the name of a run says of its contender."""
    said = parse_run(run)
    build = f"archived, compiled as {said.build}" if said and said.build else "archived"
    return ContenderFacts(
        name=title,
        dbms=said.dbms if said else UNKNOWN,
        build=BuildFacts(source=build, version=(said and said.version) or UNKNOWN),
        config=(said.config if said else None) or UNKNOWN,
        settings={},
        archived=run,
    )


def undecoded(contenders: Sequence[ContenderFacts]) -> list[str]:
    """A line on those whose names do not say their version; none where all do."""
    names = [one.name for one in contenders if one.build.version == UNKNOWN]
    if not names:
        return []
    return [f"version not decoded: {beginning(names, _MOST_LISTED)}"]
