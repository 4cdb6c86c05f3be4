"""What hosts have measured, joined into one experiment again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from slowdust.errors import SlowdustError
from slowdust.fleet.model import Cluster
from slowdust.fleet.receiving import close, received, unreadable
from slowdust.fleet.record import Placement, Record, State, part_folder
from slowdust.fleet.view import FleetView
from slowdust.store.folder import SLICES_FILE, Folder
from slowdust.units import Second
from slowdust.wording import first_line

Join = Callable[[Sequence[tuple[str, Folder]], Folder], None]
"""Makes the experiment of a folder of what hosts measured: the host's name, and the folder."""
Distrust = Callable[[Placement, str], None]
"""Marks what a host measured as unreadable, for a reason."""

_JOIN_EVERY: Second = 20.0
_JOIN_SHARE = 0.1
"""The most of its time that the head spends joining while hosts measure."""


class Gathering:
    """The joined experiment of a fleet; what cannot be read of a host is left out of it."""

    def __init__(
        self,
        folder: Path,
        target: Folder,
        record: Record,
        *,
        join: Join,
        distrust: Distrust,
        cluster: Cluster,
        view: FleetView,
    ) -> None:
        self._folder = folder
        self._target = target
        self._record = record
        self._join = join
        self._distrust = distrust
        self._cluster = cluster
        self._view = view
        self.is_fresh = False
        """Whether something was received since the last join."""
        self._joined_at = cluster.now()
        self._took: Second = 0.0

    def join_if_due(self) -> None:
        """Join what has been received, unless that was done a short while ago."""
        now = self._cluster.now()
        pause = max(_JOIN_EVERY, self._took / _JOIN_SHARE)
        if self.is_fresh and now - self._joined_at >= pause:
            try:
                self.join()
            except SlowdustError as error:  # at the end it is one
                self._view.warning(f"cannot join what there is so far: {first_line(str(error))}")
            self._joined_at = self._cluster.now()
            self._took = self._joined_at - now

    def join(self) -> None:
        """Join what has been received; nothing where there is none.

        Raises:
            SlowdustError: it does not belong together, or cannot be written.
        """
        self.is_fresh = False
        parts = self._parts()
        if not parts:
            return
        try:
            self._join(parts, self._target)
        except SlowdustError:
            # All parts are read here only after a failure: the join reads them itself.
            if not self._distrust_unreadable(self._record.placements):
                raise
            self.join()

    def close(self) -> None:
        """Mark what lost hosts had measured as all that they were to measure.

        Raises:
            SlowdustError: a manifest cannot be written.
        """
        states = (State.LOST, State.FAILED)
        ended = [each for each in self._record.placements if each.state in states]
        self._distrust_unreadable(ended)
        for placement in ended:
            if not placement.unreadable:
                close(part_folder(self._folder, placement))

    def _distrust_unreadable(self, placements: Sequence[Placement]) -> bool:
        """Let what cannot be read not count; return whether there was any."""
        found = False
        for placement in [each for each in placements if not each.unreadable]:
            if (reason := unreadable(part_folder(self._folder, placement))) is not None:
                self._distrust(placement, reason)
                found = True
        return found

    def _parts(self) -> list[tuple[str, Folder]]:
        """Return host and folder of all that has been measured and can be read."""
        readable = [each for each in self._record.placements if not each.unreadable]
        folders = [(each.host, part_folder(self._folder, each)) for each in readable]
        return [
            (host, folder)
            for host, folder in folders
            if folder.has_manifest() and received(folder).get(SLICES_FILE)
        ]
