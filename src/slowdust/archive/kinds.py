"""The kinds of archives: their interface, and the list of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from slowdust.archive.importing import (
    Candidate,
    ForeignKind,
    Import,
    Mode,
    Option,
    import_candidates,
)
from slowdust.archive.insert.kind import InsertKind
from slowdust.archive.problems import of_other_kind, unread_of_other_kind
from slowdust.archive.sysbench.kind import SysbenchKind
from slowdust.store.keeping.experiments import check_name


class ArchiveKind(Protocol):
    """A kind of archive: it knows its files, and the experiments in them."""

    name: str
    """The kind's name on the command line and in manifests."""
    summary: str
    """One line of help."""
    help: str
    """The help of its import."""
    options: Sequence[Option]
    """Options that its import has beside those of all kinds."""

    def owns(self, file: str) -> bool:
        """Return whether a file of that name is of this kind."""

    def reads(self, file: str) -> bool:
        """Return whether its import may take a result from a file of that name, which it owns."""

    def find(
        self, roots: Sequence[Path], mode: Mode, options: Mapping[str, Any], foreign: ForeignKind
    ) -> Sequence[Candidate]:
        """Find the directories below `roots` that may be experiments.

        `options` has a value or None for each of the kind's own.
        """


KINDS: tuple[ArchiveKind, ...] = (SysbenchKind(), InsertKind())
"""All kinds; a file that two own is of the first."""


def import_archives(
    kind: ArchiveKind,
    roots: Sequence[Path],
    results: Path,
    *,
    name: str | None,
    mode: Mode,
    options: Mapping[str, Any],
) -> Import:
    """Make experiments of the archives below `roots`, and store them.

    Raises:
        UsageError: `name` is none, or is that of another experiment.
    """

    def foreign(file: str) -> str | None:
        owner = next((other for other in KINDS if other.owns(file)), kind)
        if owner is kind:
            return None
        return of_other_kind(owner.name) if owner.reads(file) else unread_of_other_kind(owner.name)

    if name is not None:
        check_name(name)
    return import_candidates(kind.find(roots, mode, options, foreign), results, name)
