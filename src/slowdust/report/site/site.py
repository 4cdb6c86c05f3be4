"""A site: all experiments of a results folder as linked pages.

    index.html                      all experiments
    experiments/NAME.html           the report of an experiment
    diff/BEFORE/AFTER.html          what changed from one to another
    dates.html, versions.html       trends

Paths depend only on names, so that links stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from slowdust.analysis.diff import diff_of
from slowdust.analysis.history.dates import trends_of
from slowdust.analysis.history.history import Choice, deduplicate, history_of
from slowdust.analysis.history.series import Experiment
from slowdust.analysis.stored import Stored, read_stored
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.errors import SlowdustError, UsageError
from slowdust.places import stays_below
from slowdust.report import diff, html
from slowdust.report import history as history_report
from slowdust.report.html import blocks
from slowdust.report.site import dates, index
from slowdust.report.site.index import (
    Entry,
    Link,
    Pairs,
    find_previous,
    framed,
    link_to,
    make_entry,
)
from slowdust.store.experiments import Annotation, is_name, read_annotation
from slowdust.store.folder import Folder, experiments
from slowdust.store.manifest import Manifest
from slowdust.store.storage import FAULTS, replace_file

INDEX, DATES, VERSIONS = "index.html", "dates.html", "versions.html"
RECORD = ".slowdust-site.json"
"""The list of pages in a site's directory."""
_EVERYTHING = Choice(
    benchmark=lambda _: True,
    test=lambda _: True,
    base=None,
    bands=DEFAULT_BANDS,
    configs=None,
    host=None,
)


class Site:
    """The pages of the current experiments of a results folder."""

    def __init__(self, results: Path, pairs: Pairs) -> None:
        self._results = results
        self._pairs = pairs
        self._folders = {each.name: each for each in experiments(results) if is_name(each.name)}
        self._manifests = {name: _manifest(each) for name, each in self._folders.items()}
        self._previous = find_previous(self._manifests)
        self._read = lru_cache(maxsize=3)(self._read_stored)

    def pages(self) -> Iterator[tuple[str, str]]:
        """Yield path and content of each page: experiments, the oldest first, then the index."""
        entries: dict[str, Entry] = {}
        for name in self.names:
            entry = entries[name] = self._entry(name)
            if not entry.can_be_read:
                continue
            before = self._previous.get(name)
            if before is not None and entries[before].can_be_read:
                entry.previous = before
            yield page_path(name), self._experiment_page(entry)
            if entry.previous:
                yield diff_path(entry.previous, name), self.diff_page(entry.previous, name)
        listed = [entries[name] for name in sorted(self._folders, key=self._started, reverse=True)]
        readable = [entry.name for entry in listed if entry.can_be_read]
        runs = [Experiment.read(self._folders[name]) for name in readable]
        yield DATES, framed(blocks.render(dates.document(trends_of(runs))), _links(DATES))
        yield VERSIONS, framed(_versions(runs), _links(VERSIONS))
        paths = {name: link_to(page_path(name), "", INDEX).href for name in readable}
        yield INDEX, index.render(listed, paths, self._pairs)

    @property
    def names(self) -> list[str]:
        """All experiments, the oldest first."""
        return sorted(self._folders, key=lambda name: (self._started(name), name))

    @property
    def paths(self) -> list[str]:
        """The paths of all pages, provided that all experiments can be read."""
        differences = [diff_path(before, after) for after, before in self._previous.items()]
        return [INDEX, DATES, VERSIONS, *map(page_path, self.names), *differences]

    def diff_page(self, before: str, after: str) -> str:
        """Return what changed from one experiment to another."""
        page = blocks.render(diff.document(diff_of(self._read(before), self._read(after))))
        place = diff_path(before, after)
        links = [link_to(page_path(each), each, place) for each in (before, after)]
        return framed(page, [*_links(place), *links])

    def _read_stored(self, name: str) -> Stored:
        return read_stored(self._folders[name])

    def _started(self, name: str) -> str:
        manifest = self._manifests[name]
        return "" if manifest is None else manifest.started or ""

    def _entry(self, name: str) -> Entry:
        try:
            entry = make_entry(name, self._read(name))
        except SlowdustError as error:
            # Do not publish paths of this machine.
            why = str(error).replace(f"{self._results}/", "")
            entry = Entry(name=name, state="unreadable", error=why)
        try:
            entry.annotation = read_annotation(self._folders[name])
        except SlowdustError as error:
            entry.annotation = Annotation(note=str(error))
        return entry

    def _experiment_page(self, entry: Entry) -> str:
        stored, place = self._read(entry.name), page_path(entry.name)
        links = _links(place)
        if before := entry.previous:
            path = diff_path(before, entry.name)
            links.append(link_to(path, f"Changes since {before}", place))
        page = html.render(stored.report(), stored.slices, stored.profiles)
        return framed(page, links, entry.annotation)


def _manifest(folder: Folder) -> Manifest | None:
    try:
        return folder.read_manifest()
    except SlowdustError:
        return None


def _versions(runs: list[Experiment]) -> str:
    kept, notes = deduplicate(runs)
    kept.sort(key=lambda run: (run.manifest.started or "", run.name))
    history = history_of(kept, _EVERYTHING)
    history.notes += notes
    return blocks.render(history_report.document(history))


def page_path(name: str) -> str:
    return f"experiments/{name}.html"


def diff_path(before: str, after: str) -> str:
    return f"diff/{before}/{after}.html"


def _links(place: str) -> list[Link]:
    pages = ((INDEX, "All experiments"), (DATES, "Trends by date"), (VERSIONS, "Trends by version"))
    return [link_to(path, label, place) for path, label in pages if path != place]


@dataclass
class Published:
    """Changes of a site's directory, as relative paths."""

    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Pages of removed experiments."""
    unreadable: list[str] = field(default_factory=list)
    """Experiments that could not be read."""


class _Record(msgspec.Struct, kw_only=True):
    schema: int = 1
    pages: dict[str, Any] = {}
    """The paths of the pages; values of earlier versions are ignored."""


def publish(results: Path, directory: Path, pairs: Pairs = Pairs.PREVIOUS) -> Published:
    """Write the pages of a results folder into a directory; remove obsolete pages.

    Files that Slowdust has not written are never touched.

    Raises:
        UsageError: the directory is in the results folder, or a page would replace a file that
            Slowdust has not written.
        SlowdustError: the directory cannot be written.
    """
    if directory.resolve().is_relative_to(results.resolve()):
        raise UsageError(
            f"{directory} is within the results folder {results}: choose another directory"
        )
    before, site, outcome = _read_record(directory).pages, Site(results, pairs), Published()
    foreign = [path for path in site.paths if path not in before and (directory / path).exists()]
    if foreign:
        raise UsageError(
            f"{directory / foreign[0]} was not written by Slowdust: choose another directory"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Record pages before writing them, so that a killed run can be repeated.
        _write_record(directory, [*before, *site.paths])
        for path, content in site.pages():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(directory / path, content.encode())
            outcome.written.append(path)
        for path in before.keys() - {*outcome.written}:
            if stays_below(Path(path)):
                (directory / path).unlink(missing_ok=True)
                outcome.removed.append(path)
        _write_record(directory, outcome.written)
    except OSError as error:
        raise SlowdustError(f"cannot write the site: {error}") from error
    outcome.unreadable = [name for name in site.names if page_path(name) not in outcome.written]
    return outcome


def _read_record(directory: Path) -> _Record:
    path = directory / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Record)
    except FileNotFoundError:
        return _Record()
    except FAULTS as error:
        raise SlowdustError(
            f"{path} is damaged, or was written by a newer Slowdust: remove the directory and "
            f"write the site again ({error})"
        ) from error


def _write_record(directory: Path, pages: Iterable[str]) -> None:
    replace_file(directory / RECORD, msgspec.json.encode(_Record(pages=dict.fromkeys(pages, ""))))
