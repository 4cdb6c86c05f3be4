"""The announced duration of an experiment: corrected while it runs, and kept.

The speed of operations is known once the first of them have run. If the experiment would take more
than twice the announced time, the user is asked at a terminal. Without a terminal, or if the answer
is no, the experiment stops before that and keeps its measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.view import View
from slowdust.units import Second, format_duration

MOST = 2.0
"""Longest time without asking, as a multiple of the first announcement."""
_UNREPORTED: Second = 5.0
"""Getting cached builds takes less than this; it is not worth a line."""
_CORRECTED_FROM = 1.25
"""A new end is announced if it differs from the last announced one by more than this factor."""


@dataclass
class Following:
    """The passes after the timed part, and the expected duration of each."""

    profile: Second = 0.0
    counting: Second = 0.0
    waits: Second = 0.0

    @property
    def together(self) -> Second:
        return self.profile + self.counting + self.waits


class Announced:
    """The announced end of an experiment, in seconds from its beginning."""

    def __init__(
        self,
        view: View,
        expected: Second = math.inf,
        most: Second = math.inf,
        following: Following | None = None,
        builds: Second = 0.0,
        *,
        clock: Clock = MACHINE,
    ) -> None:
        """`expected` is infinite if nothing was announced, `most` if there is no limit.

        `following` and `builds` are parts of `expected`: the passes after the timed part, and the
        usual time for getting builds.
        """
        self._view = view
        self._clock = clock
        self.following = following or Following()
        self._builds = builds
        self._begun = self._clock.monotonic()
        self._first = self.end = expected
        """Seconds from the beginning to the end, as announced first and as announced last."""
        self._most = most
        self._asked = False
        self.ended_early = False
        """Whether something was skipped for lack of time."""

    @property
    def elapsed(self) -> Second:
        """The seconds since the experiment began, without excluded ones."""
        return self._clock.monotonic() - self._begun

    @property
    def room(self) -> Second:
        """The seconds that the experiment may still take; infinite without a limit."""
        return max(0.0, self._most - self.elapsed)

    def got_builds(self) -> None:
        """Restart the clock now, and drop the usual time for getting builds from the announcement.

        How long that takes depends on the network and the compiler: it is reported, not limited.
        """
        took, usual = self.elapsed, self._builds
        self.exclude(took)
        self._first -= usual
        self.end -= usual
        self._most -= MOST * usual
        if took > usual * _CORRECTED_FROM + _UNREPORTED and not math.isinf(self.end):
            left = format_duration(round(self.end))
            self._view.phase(
                f"getting the builds took {format_duration(round(took))}: about {left} left"
            )

    def exclude(self, seconds: Second) -> None:
        """Do not count time spent waiting for other experiments or for the user's answer."""
        self._begun += seconds

    def correct(self, left: Second, why: str) -> None:
        """Announce a new end if it differs from the announced one; `why` begins the line.

        If it exceeds the limit for the first time, ask the user for more time.
        """
        if math.isinf(self.end):
            return
        end = self.elapsed + left
        if end > self._most and not self._asked:
            self._asked = True
            self._ask(end, why)
        end = min(end, self._most)
        if not self.end / _CORRECTED_FROM <= end <= self.end * _CORRECTED_FROM:
            self.end = end
            self._view.phase(f"{why}: about {format_duration(round(end - self.elapsed))} left")

    def _ask(self, end: Second, why: str) -> None:
        """Ask for more time than was announced; without it, say when the experiment stops."""
        needed = (
            f"{why}: it would take {format_duration(round(end))} in all, and "
            f"{format_duration(round(self._first))} were announced"
        )
        begun = self._clock.monotonic()
        if self._view.confirm(f"{needed}: continue?"):
            self._most = math.inf
        else:
            most = format_duration(round(self._most))
            self._view.phase(f"{needed}: it stops within {most} and keeps its measurements")
        self.exclude(self._clock.monotonic() - begun)

    def report_early_end(self, command: str) -> None:
        """Warn that the experiment stops before it is finished; `command` resumes it."""
        self._view.warning(
            f"stopped after {format_duration(round(self.elapsed))}, not finished: the rest would "
            f"take more than {MOST:g} times the {format_duration(round(self._first))} that were "
            f"announced; resume with `{command}`"
        )

    def allows(self, seconds: Second) -> bool:
        """Return whether there is time for something that takes `seconds`.

        After the first refusal everything is refused.
        """
        self.ended_early = self.ended_early or seconds > self.room
        return not self.ended_early
