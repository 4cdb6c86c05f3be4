"""A site as static files: only what has changed is written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from slowdust.errors import SlowdustError, UsageError
from slowdust.places import stays_below
from slowdust.report.site.index import Pairs
from slowdust.report.site.site import KnownEntry, Site
from slowdust.store.storage import FAULTS, replace_file

RECORD = ".slowdust-site.json"
"""What is in a site's directory because of Slowdust."""
_SCHEMA = 1
_NOT_YET = ""
"""The fingerprint of no page."""


class _Record(msgspec.Struct, kw_only=True):
    schema: int = _SCHEMA
    pages: dict[str, str] = {}
    """Path -> the fingerprint of what is written there."""
    entries: dict[str, KnownEntry] = {}


@dataclass
class Published:
    """What was done to a site's directory, as paths below it."""

    written: list[str] = field(default_factory=list)
    unchanged: int = 0
    removed: list[str] = field(default_factory=list)
    """Pages of experiments that are no longer there."""
    unreadable: list[str] = field(default_factory=list)
    """Experiments without a page."""


def publish(results: Path, directory: Path) -> Published:
    """Write the pages of a results folder that are missing or have changed; remove old ones.

    Files that Slowdust has not written are never touched.

    Raises:
        UsageError: the directory is in the results folder, or a file stands where a page belongs,
            and is not Slowdust's.
        SlowdustError: the directory cannot be written.
    """
    if directory.resolve().is_relative_to(results.resolve()):
        raise UsageError(
            f"{directory} is in the folder of the experiments, {results}: choose another directory"
        )
    record = _read_record(directory)
    site = Site(results, Pairs.PREVIOUS, record.entries)
    pages = site.pages()
    foreign = [path for path in pages if path not in record.pages and (directory / path).exists()]
    if foreign:
        raise UsageError(
            f"{directory / foreign[0]} is not a page of Slowdust's: choose another directory"
        )
    outcome = Published()
    kept = record.pages
    damaged: set[str] = set()
    changed = {
        path: page
        for path, page in pages.items()
        if kept.get(path) != page.fingerprint or not (directory / path).is_file()
    }
    outcome.unchanged = len(pages) - len(changed)
    try:
        if changed:
            directory.mkdir(parents=True, exist_ok=True)
            # A page is Slowdust's before it is there, so that a killed run can be repeated.
            named = kept | dict.fromkeys(changed, _NOT_YET)
            _write_record(directory, _Record(pages=named, entries=record.entries))
        for path, page in changed.items():
            try:
                content = page.render().encode()
            except SlowdustError:
                damaged.add(path)
                continue
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(directory / path, content)
            kept[path] = page.fingerprint
            outcome.written.append(path)
        # The index, which is made last, says why.
        for path in list(_stale(kept, pages.keys() - damaged)):
            (directory / path).unlink(missing_ok=True)
            del kept[path]
            outcome.removed.append(path)
    except OSError as error:
        raise SlowdustError(f"cannot write the site: {error}") from error
    finally:
        if directory.is_dir():
            _write_record(directory, _Record(pages=kept, entries=site.entries))
    outcome.unreadable = [name for name, known in site.entries.items() if known.entry.error]
    return outcome


def _stale(kept: Mapping[str, str], pages: Collection[str]) -> Iterator[str]:
    """Yield written pages that the site no longer has; paths that leave the directory never."""
    for path in kept:
        if path not in pages and stays_below(Path(path)):
            yield path


def _read_record(directory: Path) -> _Record:
    path = directory / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Record)
    except FileNotFoundError:
        return _Record()
    except FAULTS as error:
        raise SlowdustError(
            f"{path} is damaged, or a newer Slowdust wrote it: remove the directory, and it is "
            f"written anew ({error})"
        ) from error


def _write_record(directory: Path, record: _Record) -> None:
    replace_file(directory / RECORD, msgspec.json.encode(record))
