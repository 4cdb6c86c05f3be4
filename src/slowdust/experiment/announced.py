"""The time that was announced for an experiment: corrected where it is wrong, and kept.

What operations take is known once the first of them ran. An experiment that would take more than
twice the time that was announced asks whoever is at a terminal; elsewhere, and where the answer is
no, it ends before that with what it has measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.view import View
from slowdust.units import Second, format_duration

MOST = 2.0
"""Longest time without asking, as a multiple of the first announcement."""
_UNTOLD: Second = 5.0
"""What getting builds that are here may take, without a line about it."""
_CORRECTED_FROM = 1.25
"""How many times as long, or short, as the last announcement an end is that is announced anew."""


@dataclass
class Following:
    """What is expected to follow the timed part, and how long each takes."""

    profile: Second = 0.0
    counting: Second = 0.0
    waits: Second = 0.0

    @property
    def together(self) -> Second:
        return self.profile + self.counting + self.waits


class Announced:
    """The end of an experiment as it was announced, in seconds from its begin."""

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
        """`expected` is infinite where nothing was announced, `most` where it may take any time.

        `following` and `builds` are parts of `expected`: what comes behind the timed part, and the
        usual time for getting builds.
        """
        self._view = view
        self._clock = clock
        self.following = following or Following()
        self._builds = builds
        self._begun = self._clock.monotonic()
        self._first = self.end = expected
        """Seconds from the begin to the end, as announced first and as announced last."""
        self._most = most
        self._asked = False
        self.ended_early = False
        """Whether something was left out since there was no time for it."""

    @property
    def elapsed(self) -> Second:
        """The seconds since the experiment began, without those that do not count."""
        return self._clock.monotonic() - self._begun

    @property
    def room(self) -> Second:
        """The seconds that the experiment may still take; infinite if any time is granted."""
        return max(0.0, self._most - self.elapsed)

    def got_builds(self) -> None:
        """Count from now on, with what was announced beside the usual time for getting builds.

        How long that takes depends on the network and the compiler: it is told, and not limited.
        """
        took, usual = self.elapsed, self._builds
        self.leave_out(took)
        self._first -= usual
        self.end -= usual
        self._most -= MOST * usual
        if took > usual * _CORRECTED_FROM + _UNTOLD and not math.isinf(self.end):
            left = format_duration(round(self.end))
            self._view.phase(
                f"getting the builds took {format_duration(round(took))}: about {left} left"
            )

    def leave_out(self, seconds: Second) -> None:
        """Let time not count that passed while others measured, or the user was asked."""
        self._begun += seconds

    def correct(self, left: Second, why: str) -> None:
        """Announce the end anew if it is not where it was announced; `why` begins the line.

        Once it would come after more than the time that is granted, the user is asked for more.
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
        """Ask for more time than was announced; say what becomes of it where none is given."""
        needed = (
            f"{why}: it would take {format_duration(round(end))} in all, and "
            f"{format_duration(round(self._first))} were announced"
        )
        begun = self._clock.monotonic()
        if self._view.confirm(f"{needed}: take that time?"):
            self._most = math.inf
        else:
            most = format_duration(round(self._most))
            self._view.phase(f"{needed}: it ends within {most}, with what is measured by then")
        self.leave_out(self._clock.monotonic() - begun)

    def tell_early_end(self, how_to_go_on: str) -> None:
        """Say that the experiment ends before it is finished, and by which command it goes on."""
        self._view.warning(
            f"ended after {format_duration(round(self.elapsed))}, not finished: going on would "
            f"take more than {MOST:g} times the {format_duration(round(self._first))} that were "
            f"announced; `{how_to_go_on}` goes on"
        )

    def allows(self, seconds: Second) -> bool:
        """Return whether there is time for something that takes so many seconds.

        What follows something that there was no time for has none either.
        """
        self.ended_early = self.ended_early or seconds > self.room
        return not self.ended_early
