"""How fast each host is, by what it has measured, and how much the busy ones have left.

A host's pace is the time that it took, divided by the time that was expected: 2 is a host that
takes twice as long. Expectations may be wrong for all hosts alike, so that only paces beside each
other tell a slow host.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from slowdust.units import Second

_ORDINARY = 1.25
"""Multiple of the mean pace up to which a host is none of the slow ones."""


class Teaches(Enum):
    """Whether a shard tells the pace of its host."""

    YES = "yes"
    NO = "no"
    """An earlier head handed it out: how far the host has come since then is not known."""


@dataclass
class Work:
    """What a host measures now."""

    shard: str
    seconds: Second
    """The time that it is expected to take on a host of pace 1."""
    began: Second
    teaches: Teaches
    done: float = 0.0
    """The share of it that was done by whole turns."""
    at: Second = 0.0
    """The moment when the last of these was done, or when it began, without any."""

    def left(self, pace: float, now: Second) -> Second:
        """Return the time that it still takes on its host.

        Where a turn is done, it is by the turns' own length. What has taken longer than expected
        is taken to need as long again as it has already taken.
        """
        if self.done >= 1.0:
            return 0.0
        since = now - self.at
        due = self.seconds * pace
        if self.done and self.teaches is Teaches.YES:
            due = (self.at - self.began) * (1 - self.done) / self.done
        elif self.done:
            due *= 1 - self.done
        return due - since if since < due else since


class _Load:
    """The work that busy hosts have left; beginning, ending and summing take no time per host."""

    def __init__(self) -> None:
        self._ends: dict[str, tuple[Second, float]] = {}
        """Host -> when it is expected to end, and its speed."""
        self._first: list[tuple[Second, str]] = []
        """The ends, the next one first; those that have changed since are still in it."""
        self._due = self._speed = 0.0

    def begin(self, host: str, seconds: Second, pace: float, now: Second) -> None:
        self.end(host)
        end = now + seconds * pace
        self._ends[host] = end, 1 / pace
        heapq.heappush(self._first, (end, host))
        self._due += end / pace
        self._speed += 1 / pace

    def end(self, host: str) -> None:
        end, speed = self._ends.pop(host, (0.0, 0.0))
        self._due -= end * speed
        self._speed -= speed

    def left(self, now: Second) -> Second:
        """Return the work that is left, as seconds of a host of pace 1."""
        self.next_end(now)
        return max(0.0, self._due - now * self._speed) if self._ends else 0.0

    def next_end(self, now: Second) -> Second | None:
        """Return when the next of them is expected to end; None where all are overdue."""
        while self._first:
            end, host = self._first[0]
            if self._ends.get(host, (None, 0.0))[0] == end:
                if end > now:
                    return end
                self.end(host)
            heapq.heappop(self._first)
        return None


@dataclass
class _Team:
    """Hosts that share work."""

    hosts: int = 0
    unknown: int = 0
    """Hosts of them whose pace is not known."""
    speeds: float = 0.0
    """The sum of the speeds of the others, each 1 / pace."""
    load: _Load = field(default_factory=_Load)


@dataclass
class _Learned:
    """What a host has finished."""

    expected: Second = 0.0
    took: Second = 0.0


class Paces:
    """The paces of hosts, in teams that share work, and what each host does."""

    def __init__(self) -> None:
        self.work: dict[str, Work] = {}
        """Host -> what it measures."""
        self._learned: dict[str, _Learned] = {}
        self._paces: dict[str, float] = {}
        self._ordered: list[float] = []
        """The known paces, the quickest first."""
        self._total = 0.0
        self._team_of: dict[str, str] = {}
        self._teams: dict[str, _Team] = {}

    def share(self, teams: Mapping[str, str], now: Second) -> None:
        """Let hosts share the work from now on, each in its team."""
        if teams == self._team_of:
            return
        self._team_of = dict(teams)
        self._teams = {team: _Team() for team in teams.values()}
        for host in teams:
            self._count(host, 1)
            self._load(host, now)

    @property
    def mean(self) -> float:
        """The mean of the known paces, which unknown hosts are taken to have; 1 without any."""
        return self._total / len(self._paces) if self._paces else 1.0

    @property
    def quickest(self) -> float:
        """The quickest of the known paces; 1 without any."""
        return self._ordered[0] if self._ordered else 1.0

    def known(self, host: str) -> bool:
        """Return whether a host's pace is known."""
        return host in self._paces

    def pace(self, host: str) -> float:
        """Return a host's pace."""
        return self._paces.get(host) or self.mean

    def is_slow(self, host: str) -> bool:
        """Return whether a host is known to be slower than hosts usually are."""
        return self.pace(host) > _ORDINARY * self.mean

    def begin(self, host: str, shard: str, seconds: Second, now: Second, teaches: Teaches) -> None:
        """Note that a host begins a shard, or goes on with it."""
        self.work[host] = Work(shard, seconds, began=now, teaches=teaches, at=now)
        self._load(host, now)

    def advance(self, host: str, done: float, now: Second) -> None:
        """Note the share of its shard that a host has done by whole turns since it began it."""
        work = self.work.get(host)
        if work is not None and done > work.done:
            work.done, work.at = done, now
            self._learn(host)
            self._load(host, now)

    def finish(self, host: str, now: Second, share: float = 1.0) -> None:
        """Note that a host has finished its shard, of which only a share was to be done.

        A shard whose tests were settled early ends early on a host of any pace.
        """
        work = self.work.get(host)
        if work is not None and work.teaches is Teaches.YES and share > 0:
            self._keep(host, work.seconds * share, now - work.began)
        self.leave(host)
        self._learn(host)

    def stop(self, host: str, now: Second) -> None:
        """Note that a host is stopped, and is as slow as it was taken to be then."""
        work = self.work.get(host)
        if work is not None and work.teaches is Teaches.YES:
            if work.done:
                self._keep(host, work.seconds * work.done, work.at - work.began)
            else:  # it was taken to need as long again
                self._keep(host, work.seconds / 2, now - work.began)
        self.leave(host)
        self._learn(host)

    def _keep(self, host: str, expected: Second, took: Second) -> None:
        learned = self._learned.setdefault(host, _Learned())
        learned.expected += expected
        learned.took += took

    def leave(self, host: str) -> None:
        """Note that a host no longer does what it did."""
        self.work.pop(host, None)
        if (team := self._team(host)) is not None:
            team.load.end(host)

    def left(self, host: str, now: Second) -> Second:
        """Return the time that a busy host still needs."""
        return self.work[host].left(self.pace(host), now)

    def speed(self, team: str) -> float:
        """Return the sum of the speeds of a team's hosts."""
        of = self._teams[team]
        return of.speeds + of.unknown / self.mean

    def left_of_team(self, team: str, now: Second) -> Second:
        """Return the work that a team's busy hosts have left, as seconds of a host of pace 1."""
        return self._teams[team].load.left(now)

    def next_end(self, team: str, now: Second) -> Second | None:
        """Return when the next of a team's hosts is expected to end what it does."""
        return self._teams[team].load.next_end(now)

    def hosts_of(self, team: str) -> int:
        """Return how many hosts share the work of a team."""
        return self._teams[team].hosts

    def _team(self, host: str) -> _Team | None:
        name = self._team_of.get(host)
        return None if name is None else self._teams[name]

    def _load(self, host: str, now: Second) -> None:
        team, work = self._team(host), self.work.get(host)
        if team is not None and work is not None:
            team.load.begin(host, self.left(host, now) / self.pace(host), self.pace(host), now)

    def _learn(self, host: str) -> None:
        """Take the pace of a host from what it has finished, and from the turns of its shard."""
        learned, work = self._learned.get(host, _Learned()), self.work.get(host)
        expected, took = learned.expected, learned.took
        if work is not None and work.done and work.teaches is Teaches.YES:
            expected += work.seconds * work.done
            took += work.at - work.began
        if not (expected > 0 and took > 0):
            return
        self._count(host, -1)
        if (before := self._paces.get(host)) is not None:
            del self._ordered[bisect_left(self._ordered, before)]
            self._total -= before
        self._paces[host] = took / expected
        self._total += self._paces[host]
        insort(self._ordered, self._paces[host])
        self._count(host, 1)

    def _count(self, host: str, sign: int) -> None:
        """Add a host to its team, or take it away."""
        team = self._team(host)
        if team is None:
            return
        team.hosts += sign
        if host in self._paces:
            team.speeds += sign / self._paces[host]
        else:
            team.unknown += sign
