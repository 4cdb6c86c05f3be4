"""An experiment as its folder has it: all records that a report is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.analysis.analyse import analyse
from slowdust.analysis.model import Report
from slowdust.analysis.story.bands import DEFAULT_BANDS, Bands
from slowdust.store.count import Count
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.waits import WaitWindow


@dataclass(frozen=True)
class Stored:
    """The records of one experiment."""

    manifest: Manifest
    slices: Sequence[Slice]
    counts: Sequence[Count] = ()
    profiles: Sequence[Profile] = ()
    waits: Sequence[WaitWindow] = ()
    path: Path | None = None
    """The folder; None for records that are in none."""
    _reports: dict[tuple[str, Bands], Report] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self.manifest.experiment

    @property
    def typed(self) -> str:
        """The word for it on a command line: its name, or its path outside the usual results."""
        return self.name if self.path is None else Folder(self.path).typed

    def report(self, base: str | None = None, bands: Bands = DEFAULT_BANDS) -> Report:
        """Judge it; see `analyse`. The report is the same object every time, and not to change."""
        key = (base or self.manifest.base, bands)
        if key not in self._reports:
            self._reports[key] = analyse(
                self.manifest,
                self.slices,
                base,
                bands,
                self.counts,
                profiles=self.profiles,
                waits=self.waits,
                typed=self.typed,
            )
        return self._reports[key]


def read_stored(folder: Folder) -> Stored:
    """Read all records of an experiment.

    Raises:
        UsageError: there is no such experiment, or a newer Slowdust wrote it.
        SlowdustError: a file is damaged.
    """
    return Stored(
        folder.read_manifest(),
        folder.read_slices(),
        folder.read_counts(),
        folder.read_profiles(),
        folder.read_waits(),
        folder.path,
    )
