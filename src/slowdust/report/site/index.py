"""The index of a site, its entries, and the navigation of other pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote

import msgspec
from markupsafe import Markup

from slowdust.analysis.history.lines import hosts_in_words
from slowdust.analysis.stored import Stored
from slowdust.report.html.environment import environment, shipped
from slowdust.store.experiments import Annotation
from slowdust.store.manifest import Manifest
from slowdust.units import known

_PLACE = "<main>\n"
"""The start of the content in the layout of all pages. The only foreign text before it is the
title, which is escaped."""


@dataclass(frozen=True)
class Link:
    """A link to another page of the site."""

    href: str
    label: str


def link_to(path: str, label: str, place: str) -> Link:
    """Return the link from the page `place` to the page `path`; both are relative to the root."""
    return Link("../" * place.count("/") + quote(path), label)


def framed(page: str, links: Sequence[Link], annotation: Annotation | None = None) -> str:
    before, place, after = page.partition(_PLACE)
    if not place:
        raise ValueError("the page has no <main> for the site's links")
    strip = environment().get_template("frame.html").render(links=links, annotation=annotation)
    return "".join((before, place, Markup(strip), after))


class Entry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The entry of one experiment in the index."""

    name: str
    started: str = ""
    """Start in ISO 8601, UTC; empty if unknown."""
    state: str = ""
    """'finished', 'NOT FINISHED', 'imported (sysbench)', 'unreadable'."""
    base: str = ""
    others: list[str] = []
    """The contenders without the base."""
    benchmarks: list[str] = []
    tests: int = 0
    clients: list[int] = []
    host: str = ""
    verdicts: dict[str, int] = {}
    """Verdict -> number of results."""
    work: dict[str, int] = {}
    """Verdict on counted work -> number of results."""
    annotation: Annotation = msgspec.field(default_factory=Annotation)
    error: str = ""
    """Why it cannot be read; empty if it can."""
    previous: str = ""
    """The previous comparable experiment, or empty."""

    @property
    def can_be_read(self) -> bool:
        return not self.error

    @property
    def words(self) -> str:
        annotation = self.annotation
        parts = [self.name, self.started, self.state, self.base, *self.others, *self.benchmarks]
        return " ".join([*parts, self.host, *annotation.tags, annotation.note]).casefold()


def make_entry(name: str, stored: Stored) -> Entry:
    manifest, report = stored.manifest, stored.report()
    works = known(result.work for result in report.results)
    state = "finished" if manifest.finished else "NOT FINISHED"
    return Entry(
        name=name,
        started=manifest.started or "",
        state=state if manifest.imported is None else f"imported ({manifest.imported.kind})",
        base=report.base,
        others=[name for name in report.contenders if name != report.base],
        benchmarks=report.benchmarks,
        tests=len({result.test for result in report.results}),
        clients=sorted({result.clients for result in report.results}),
        host=hosts_in_words(manifest)
        if manifest.hosts
        else manifest.host.get("CPU", manifest.host.get("host", "")),
        verdicts=_tally((result.verdict for result in report.results), _VERDICTS),
        work=_tally((work.verdict for work in works), _AMOUNTS),
    )


def find_previous(manifests: Mapping[str, Manifest | None]) -> dict[str, str]:
    """Return experiment -> the last comparable one before it, for experiments that have one.

    A comparable experiment has the same base, one of the other contenders and one of the tests.
    Imported runs are excluded: they have no intervals, so their differences have no significance.
    """
    dated = [
        (manifest.started, name, manifest)
        for name, manifest in manifests.items()
        if manifest is not None and manifest.started and manifest.imported is None
    ]
    dated.sort(key=lambda each: each[:2])
    previous = {}
    for place, (_, name, manifest) in enumerate(dated):
        for _, earlier_name, earlier in reversed(dated[:place]):
            if _comparable(earlier, manifest):
                previous[name] = earlier_name
                break
    return previous


def _comparable(before: Manifest, after: Manifest) -> bool:
    names = [{facts.name for facts in each.contenders} - {each.base} for each in (before, after)]
    return (
        before.sources.isdisjoint(after.sources)  # copies and merged experiments share slices
        and bool(before.hosts) == bool(after.hosts)
        and before.base == after.base
        and not names[0].isdisjoint(names[1])
        and not set(before.tests).isdisjoint(after.tests)
    )


_VERDICTS = ("slower", "faster", "same", "unsure")
_AMOUNTS = ("more", "less", "same", "unsure")


def _tally(verdicts: Iterable[str | None], order: Sequence[str]) -> dict[str, int]:
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in order if counts[verdict]}


class Pairs(Enum):
    """The pairs of experiments with a page of differences."""

    PREVIOUS = "previous"
    """An experiment and the previous comparable one."""
    ANY = "any"


def render(entries: Sequence[Entry], paths: Mapping[str, str], pairs: Pairs) -> str:
    """Return the index; `paths` is name -> path, for experiments with a page."""
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
