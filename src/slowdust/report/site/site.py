"""The pages of a site: which there are, what each depends on, and how it is made.

    index.html                      all experiments
    experiments/NAME.html           the report of one
    diff/BEFORE/AFTER.html          what changed from one to another
    dates.html, versions.html       trends

A path depends on names alone, so that links to a page stay good. A page's fingerprint is of all
that it is made from; a page is made again only where that has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from pathlib import Path

import msgspec

from slowdust import __version__
from slowdust.analysis.diff.diff import diff_of
from slowdust.analysis.history.chaining import Experiment
from slowdust.analysis.history.dates import trends_of
from slowdust.analysis.history.history import Choice, deduplicate, history_of
from slowdust.analysis.model import Report
from slowdust.analysis.stored import Stored, read_stored
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.errors import SlowdustError
from slowdust.report import html
from slowdust.report.diff import html as diff_html
from slowdust.report.html import history as history_html
from slowdust.report.site import dates, index
from slowdust.report.site.entry import Entry, entry_of, with_previous
from slowdust.report.site.frame import Link, framed, link_to
from slowdust.report.site.index import Pairs
from slowdust.store.folder import LOGS, Folder, experiments
from slowdust.store.keeping.annotation import ANNOTATION_FILE, read_annotation
from slowdust.store.keeping.experiments import is_name

INDEX, DATES, VERSIONS = "index.html", "dates.html", "versions.html"
_NOT_READ = (".lock", "report.html", LOGS, ANNOTATION_FILE)
"""What is not measured in an experiment's folder."""
_MOST_READ = 3
"""Experiments whose records and report are kept in memory, those that were used last."""


class KnownEntry(msgspec.Struct, kw_only=True):
    """An entry, and the fingerprint of the experiment that it was made from."""

    fingerprint: str
    entry: Entry


@dataclass(frozen=True)
class Page:
    """A page that can be made."""

    fingerprint: str
    """The same as long as all that it is made from is."""
    render: Callable[[], str]


@dataclass(frozen=True)
class _Read:
    stored: Stored
    report: Report


class Site:
    """The pages of one results folder.

    `known` has the entries of an earlier site by name, which are taken where nothing has changed.
    """

    def __init__(
        self, results: Path, pairs: Pairs, known: Mapping[str, KnownEntry] | None = None
    ) -> None:
        self._results = results
        self._pairs = pairs
        self.entries: dict[str, KnownEntry] = dict(known or {})
        """The entries of the experiments that there were when pages were last asked for."""
        self._read_last: dict[tuple[str, str], _Read] = {}

    def pages(self) -> dict[str, Page]:
        """Return path -> page of all pages that are written, the index last."""
        folders = {folder.name: folder for folder in experiments(self._results)}
        prints = {name: fingerprint_of(folder) for name, folder in folders.items()}
        entries = with_previous([self._entry(folders[name], prints[name]) for name in folders])
        self.entries = {name: self.entries[name] for name in folders}
        readable = [entry for entry in entries if entry.can_be_read]
        pages = {
            path_of(entry.name): Page(
                _hash(prints[entry.name], entry.previous, *_written_by_user(entry)),
                partial(self._experiment_page, entry, prints[entry.name]),
            )
            for entry in readable
        }
        for entry in readable:
            if entry.previous:
                pages[diff_path(entry.previous, entry.name)] = self._diff_page(
                    folders[entry.previous], folders[entry.name]
                )
        everything = _hash(*(prints[entry.name] for entry in readable))
        names = [entry.name for entry in readable]
        pages[DATES] = Page(everything, lambda: self._dates_page(names))
        pages[VERSIONS] = Page(everything, lambda: self._versions_page(names))
        entries.sort(key=lambda entry: entry.started, reverse=True)
        listed = _hash(self._pairs.value, msgspec.json.encode(entries).decode())
        pages[INDEX] = Page(listed, lambda: self._index_page(entries))
        return pages

    def diff(self, before: str, after: str) -> Page | None:
        """Return the difference of any two experiments; None unless there are both."""
        folders = {folder.name: folder for folder in experiments(self._results)}
        if before == after or not {before, after} <= folders.keys():
            return None
        return self._diff_page(folders[before], folders[after])

    def _entry(self, folder: Folder, fingerprint: str) -> Entry:
        known = self.entries.get(folder.name)
        if known is None or known.fingerprint != fingerprint:
            known = KnownEntry(fingerprint=fingerprint, entry=self._new_entry(folder, fingerprint))
            self.entries[folder.name] = known
        if not known.entry.can_be_read:
            return known.entry
        try:
            return msgspec.structs.replace(known.entry, annotation=read_annotation(folder))
        except SlowdustError as error:
            return _unreadable(folder, str(error))

    def _new_entry(self, folder: Folder, fingerprint: str) -> Entry:
        if not is_name(folder.name):
            return _unreadable(folder, "its folder has a name that no experiment can have")
        try:
            read = self._read(folder, fingerprint)
            return entry_of(read.stored, read.report)
        except SlowdustError as error:
            return _unreadable(folder, str(error))

    def _read(self, folder: Folder, fingerprint: str) -> _Read:
        """Return an experiment's records and report, from memory where it was read lately."""
        key = folder.name, fingerprint
        read = self._read_last.pop(key, None)
        if read is None:
            stored = read_stored(folder)
            read = _Read(stored, stored.report())
        self._read_last[key] = read
        while len(self._read_last) > _MOST_READ:
            del self._read_last[next(iter(self._read_last))]
        return read

    def _experiment_page(self, entry: Entry, fingerprint: str) -> str:
        read = self._read(Folder(self._results / entry.name), fingerprint)
        page = html.render(read.report, read.stored.slices, read.stored.profiles)
        place = path_of(entry.name)
        links = _links(place)
        if entry.previous:
            path = diff_path(entry.previous, entry.name)
            links.append(link_to(path, f"What changed since {entry.previous}", place))
        return framed(page, links, entry.annotation)

    def _diff_page(self, before: Folder, after: Folder) -> Page:
        prints = [fingerprint_of(folder) for folder in (before, after)]
        place = diff_path(before.name, after.name)

        def render() -> str:
            pair = zip((before, after), prints, strict=True)
            first, second = (self._read(*each).stored for each in pair)
            page = diff_html.render(diff_of(first, second))
            links = [link_to(path_of(each), each, place) for each in (before.name, after.name)]
            return framed(page, [*_links(place), *links])

        return Page(_hash(*prints), render)

    def _dates_page(self, names: Sequence[str]) -> str:
        return framed(dates.render(trends_of(self._experiments(names))), _links(DATES))

    def _versions_page(self, names: Sequence[str]) -> str:
        runs, notes = deduplicate(self._experiments(names))
        runs.sort(key=lambda run: (run.manifest.started or "", run.name))
        history = history_of(runs, _EVERYTHING)
        history.notes += notes
        return framed(history_html.render(history), _links(VERSIONS))

    def _experiments(self, names: Sequence[str]) -> list[Experiment]:
        return [Experiment.read(Folder(self._results / name)) for name in names]

    def _index_page(self, entries: Sequence[Entry]) -> str:
        paths = {
            entry.name: link_to(path_of(entry.name), "", INDEX).href
            for entry in entries
            if entry.can_be_read
        }
        return index.render(entries, paths, self._pairs)


_EVERYTHING = Choice(
    benchmark=lambda _: True,
    test=lambda _: True,
    base=None,
    bands=DEFAULT_BANDS,
    configs=None,
    host=None,
)


def path_of(name: str) -> str:
    """Return the path of an experiment's page."""
    return f"experiments/{name}.html"


def diff_path(before: str, after: str) -> str:
    """Return the path of the page of what changed from one experiment to another."""
    return f"diff/{before}/{after}.html"


def fingerprint_of(folder: Folder) -> str:
    """Return a hash of names, sizes and times of what was measured, and of this Slowdust."""
    tops = [path for path in sorted(folder.path.iterdir()) if path.name not in _NOT_READ]
    files = [path for top in tops for path in ([top] if top.is_file() else sorted(top.iterdir()))]
    return _hash(*(f"{path.relative_to(folder.path)} {_facts(path)}" for path in files))


def _facts(path: Path) -> str:
    facts = path.stat()
    return f"{facts.st_size} {facts.st_mtime_ns}"


def _hash(*parts: str) -> str:
    digest = hashlib.sha256(_slowdust().encode())
    for part in parts:
        digest.update(f"\0{part}".encode(errors="surrogateescape"))
    return digest.hexdigest()[:32]


@cache
def _slowdust() -> str:
    """Return what tells this Slowdust from one that would write other pages."""
    with resources.as_file(resources.files("slowdust")) as package:
        sources = sorted(
            path for path in package.rglob("*") if path.suffix in {".py", ".html", ".css", ".js"}
        )
        return " ".join([__version__, *map(_facts, sources)])


def _written_by_user(entry: Entry) -> tuple[str, ...]:
    return entry.annotation.note, *entry.annotation.tags


def _unreadable(folder: Folder, why: str) -> Entry:
    return Entry(name=folder.name, state="unreadable", error=why)


def _links(place: str) -> list[Link]:
    """Return the links that each page but the index has."""
    pages: Iterable[tuple[str, str]] = (
        (INDEX, "All experiments"),
        (DATES, "Trends by date"),
        (VERSIONS, "Trends by version"),
    )
    return [link_to(path, label, place) for path, label in pages if path != place]
