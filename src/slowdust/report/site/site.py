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
from slowdust.analysis.diff import diff_of
from slowdust.analysis.history.dates import trends_of
from slowdust.analysis.history.history import Choice, deduplicate, history_of
from slowdust.analysis.history.series import Experiment
from slowdust.analysis.stored import Stored, read_stored
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.errors import SlowdustError
from slowdust.report import diff, html
from slowdust.report.html import history as history_html
from slowdust.report.site import dates, index
from slowdust.report.site.index import Entry, Link, Pairs, entry_of, framed, link_to, previous_of
from slowdust.store.experiments import ANNOTATION_FILE, Annotation, is_name, read_annotation
from slowdust.store.folder import LOGS, Folder, experiments
from slowdust.store.manifest import Manifest

INDEX, DATES, VERSIONS = "index.html", "dates.html", "versions.html"
_NOT_READ = ("report.html", LOGS, ANNOTATION_FILE)
"""What is not measured in an experiment's folder, like hidden files."""
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
class _Experiment:
    """An experiment of the folder, as far as its manifest says."""

    folder: Folder
    fingerprint: str
    manifest: Manifest | None
    """None if it cannot be read."""
    annotation: Annotation


class Site:
    """The pages of one results folder.

    `entries` are those of an earlier site by name, which are taken where nothing has changed.
    """

    def __init__(
        self, results: Path, pairs: Pairs, entries: Mapping[str, KnownEntry] | None = None
    ) -> None:
        self._results = results
        self._pairs = pairs
        self.entries: dict[str, KnownEntry] = dict(entries or {})
        """Entries of the experiments whose page, or the index, was made; without their notes."""
        self._read_last: dict[tuple[str, str], Stored] = {}
        self._manifests: dict[str, tuple[str, Manifest | None]] = {}

    def pages(self) -> dict[str, Page]:
        """Return path -> page, the newest experiment first and the index last.

        A page of records that are damaged raises SlowdustError when it is rendered.
        """
        stored = self._experiments()
        readable = {each.folder.name: each for each in stored if each.manifest is not None}
        previous = previous_of({each.folder.name: each.manifest for each in stored})
        pages = {}
        for name, each in readable.items():
            before = readable.get(previous.get(name, ""))
            link = ("", "") if before is None else (before.folder.name, before.fingerprint)
            pages[path_of(name)] = Page(
                _hash(each.fingerprint, *link, *_written_by_user(each.annotation)),
                partial(self._experiment_page, each, before),
            )
            if before is not None:
                pages[diff_path(before.folder.name, name)] = self._diff_page(before, each)
        everything = _hash(*(each.fingerprint for each in readable.values()))
        pages[DATES] = Page(everything, partial(self._dates_page, stored))
        pages[VERSIONS] = Page(everything, partial(self._versions_page, stored))
        listed = (
            part
            for each in stored
            for part in (each.folder.name, each.fingerprint, *_written_by_user(each.annotation))
        )
        pages[INDEX] = Page(
            _hash(self._pairs.value, *listed), partial(self._index_page, stored, previous)
        )
        return pages

    def diff(self, before: str, after: str) -> Page | None:
        """Return the difference of any two experiments; None unless there are both."""
        readable = {
            each.folder.name: each for each in self._experiments() if each.manifest is not None
        }
        if before == after or not {before, after} <= readable.keys():
            return None
        return self._diff_page(readable[before], readable[after])

    def _experiments(self) -> list[_Experiment]:
        folders = experiments(self._results)
        stored = [self._experiment(folder) for folder in folders if is_name(folder.name)]
        self.entries = {
            each.folder.name: self.entries[each.folder.name]
            for each in stored
            if each.folder.name in self.entries
        }
        return sorted(
            stored, key=lambda each: (each.manifest and each.manifest.started) or "", reverse=True
        )

    def _experiment(self, folder: Folder) -> _Experiment:
        fingerprint = fingerprint_of(folder)
        read = self._manifests.get(folder.name)
        if read is None or read[0] != fingerprint:
            read = (fingerprint, _manifest(folder))
            self._manifests[folder.name] = read
        return _Experiment(folder, fingerprint, read[1], _annotation(folder))

    def _entry(self, each: _Experiment) -> Entry:
        kept = self.entries.get(each.folder.name)
        if kept is None or kept.fingerprint != each.fingerprint:
            try:
                entry = entry_of(each.folder.name, self._read(each))
            except SlowdustError as error:
                # A published page is no place for this machine's paths.
                why = str(error).replace(f"{self._results}/", "")
                entry = Entry(name=each.folder.name, state="unreadable", error=why)
            kept = KnownEntry(fingerprint=each.fingerprint, entry=entry)
            self.entries[each.folder.name] = kept
        return kept.entry

    def _readable(self, stored: Sequence[_Experiment], name: str | None) -> str:
        """Return the name if it is of an experiment whose records can be read; else nothing."""
        named = (each for each in stored if each.folder.name == name)
        return "".join(each.folder.name for each in named if self._entry(each).can_be_read)

    def _read(self, each: _Experiment) -> Stored:
        key = each.folder.name, each.fingerprint
        stored = self._read_last.pop(key, None) or read_stored(each.folder)
        self._read_last[key] = stored
        while len(self._read_last) > _MOST_READ:
            del self._read_last[next(iter(self._read_last))]
        return stored

    def _experiment_page(self, each: _Experiment, before: _Experiment | None) -> str:
        stored = self._read(each)
        page = html.render(stored.report(), stored.slices, stored.profiles)
        self._entry(each)  # while the report is at hand, for the index
        place = path_of(each.folder.name)
        links = _links(place)
        if before is not None and self._entry(before).can_be_read:
            path = diff_path(before.folder.name, each.folder.name)
            links.append(link_to(path, f"What changed since {before.folder.name}", place))
        return framed(page, links, each.annotation)

    def _diff_page(self, before: _Experiment, after: _Experiment) -> Page:
        names = before.folder.name, after.folder.name
        place = diff_path(*names)

        def render() -> str:
            page = diff.render_page(diff_of(self._read(before), self._read(after)))
            links = [link_to(path_of(each), each, place) for each in names]
            return framed(page, [*_links(place), *links])

        return Page(_hash(before.fingerprint, after.fingerprint), render)

    def _dates_page(self, stored: Sequence[_Experiment]) -> str:
        return framed(dates.render(trends_of(_runs(stored))), _links(DATES))

    def _versions_page(self, stored: Sequence[_Experiment]) -> str:
        runs, notes = deduplicate(_runs(stored))
        runs.sort(key=lambda run: (run.manifest.started or "", run.name))
        history = history_of(runs, _EVERYTHING)
        history.notes += notes
        return framed(history_html.render(history), _links(VERSIONS))

    def _index_page(self, stored: Sequence[_Experiment], previous: Mapping[str, str]) -> str:
        entries = [
            msgspec.structs.replace(
                self._entry(each),
                annotation=each.annotation,
                previous=self._readable(stored, previous.get(each.folder.name)),
            )
            for each in stored
        ]
        paths = {
            entry.name: link_to(path_of(entry.name), "", INDEX).href
            for entry in entries
            if entry.can_be_read
        }
        return index.render(entries, paths, self._pairs)


def _manifest(folder: Folder) -> Manifest | None:
    try:
        return folder.read_manifest()
    except SlowdustError:
        return None


def _annotation(folder: Folder) -> Annotation:
    try:
        return read_annotation(folder)
    except SlowdustError as error:
        return Annotation(note=str(error))


def _runs(stored: Sequence[_Experiment]) -> list[Experiment]:
    runs = []
    for each in stored:
        try:
            runs.append(Experiment.read(each.folder))
        except SlowdustError:
            continue  # the index says why
    return runs


_EVERYTHING = Choice(
    benchmark=lambda _: True,
    test=lambda _: True,
    base=None,
    bands=DEFAULT_BANDS,
    configs=None,
    host=None,
)


def path_of(name: str) -> str:
    return f"experiments/{name}.html"


def diff_path(before: str, after: str) -> str:
    return f"diff/{before}/{after}.html"


def fingerprint_of(folder: Folder) -> str:
    """Return a hash of names, sizes and times of what was measured, and of this Slowdust."""
    there = (path for path in sorted(folder.path.iterdir()) if not path.name.startswith("."))
    tops = [path for path in there if path.name not in _NOT_READ]
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


def _written_by_user(annotation: Annotation) -> tuple[str, ...]:
    return annotation.note, *annotation.tags


def _links(place: str) -> list[Link]:
    pages: Iterable[tuple[str, str]] = (
        (INDEX, "All experiments"),
        (DATES, "Trends by date"),
        (VERSIONS, "Trends by version"),
    )
    return [link_to(path, label, place) for path, label in pages if path != place]
