"""Ratios measured on several hosts, combined into one ratio for hosts like these.

A merged experiment has starts i on hosts h, and a contender's log ratio is

    m_hi = theta + w_h + u_hi + e_hi       w_h ~ N(0, omega^2): effect of the host

Each host is estimated from its own starts first, with tau integrated over its posterior
(`estimate.py`). The nearest Student's t to that estimate then takes the place of a start, omega the
place of tau, and `posterior.HOSTS` the place of tau's prior. Two to eight hosts say as little about
omega as starts do about tau, so omega is integrated over, too.

A host is compared with the prediction that the other hosts make for one more host: theta and omega
without this host, and the error of its own estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.blocks import BlockRatios
from slowdust.stats.location import FloatArray
from slowdust.stats.mixture import Mixture, Symmetric
from slowdust.stats.posterior import HOSTS, TAU_GRID, Expectation, Locations, weigh_restarts

FEWEST_TO_NAME = 3
"""Fewest hosts at which one can be said to disagree: of two, either may be the odd one."""
_TAILS = np.array([0.025, 0.16])
"""Tail probabilities at which a mixture and its nearest Student's t agree."""
_FREEDOMS = np.concatenate((np.geomspace(0.5, 300.0, 120), [1e6]))


@dataclass(frozen=True)
class Hosts:
    """The host of each start and the group of each host; both empty with a single host."""

    of: Mapping[int, str]
    """Number of the start -> name of its host."""
    groups: Mapping[str, str]
    """Name of the host -> its group, the model of its CPU; in the experiment's order."""

    def numbers(self, *hosts: str) -> frozenset[int]:
        return frozenset(number for number, host in self.of.items() if host in hosts)

    def names(self, numbers: Iterable[int]) -> list[str]:
        """Return the hosts of some starts, in the experiment's order."""
        named = {self.of.get(number, "") for number in numbers}
        return [host for host in ("", *self.groups) if host in named]

    def group_names(self, numbers: Iterable[int]) -> list[str]:
        return list(dict.fromkeys(self.groups[host] for host in self.names(numbers) if host))

    def in_group(self, group: str) -> list[str]:
        return [host for host, own in self.groups.items() if own == group]


ONE_HOST = Hosts({}, {})
"""The hosts of an experiment that was not merged."""


@dataclass(frozen=True)
class Students:
    """Distributions of ln rqps as Student's t; arrays of shape (rows,)."""

    center: FloatArray
    scale: FloatArray
    freedom: FloatArray

    @classmethod
    def nearest(cls, mixture: Mixture) -> Students:
        """Return the Student's t that has the mean and two tails of each mixture."""
        from scipy.special import stdtrit

        reach = Symmetric.about_mean(mixture).reach(_TAILS)
        quantiles: FloatArray = -stdtrit(_FREEDOMS[:, None], _TAILS[None, :])
        ratios = quantiles[:, 0] / quantiles[:, 1]
        # Fewer degrees of freedom give a larger ratio of the outer quantile to the inner one.
        freedom = np.interp(-reach[:, 0] / reach[:, 1], -ratios, _FREEDOMS)
        scale: FloatArray = reach[:, 0] / -stdtrit(freedom, _TAILS[0])
        return cls(mixture.mean(), scale, freedom)


@dataclass(frozen=True)
class HostRows:
    """Estimates of single hosts, and the cells that they belong to."""

    students: Students
    cells: Sequence[Sequence[int]]
    """Rows of each cell, two or more."""
    hosts: Sequence[str]
    """Host of each row."""
    expected: Expectation
    """Prior of omega."""

    def locations(self, contenders: Sequence[str]) -> Locations:
        """Return the cells with hosts in the place of starts; `contenders` is by cell."""
        columns = self._columns()
        shape = (len(self.cells), len(columns))
        mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
        for cell, rows in enumerate(self.cells):
            places = [columns.index(self.hosts[row]) for row in rows]
            mean[cell, places] = self.students.center[list(rows)]
            variance[cell, places] = self.students.scale[list(rows)] ** 2
            present[cell, places] = 1
        return Locations(
            mean=mean,
            variance=variance,
            present=present,
            # Hosts share their uncertainty about restarts: use the fewest degrees of freedom.
            freedom=np.array([self.students.freedom[list(rows)].min() for rows in self.cells]),
            contender=contenders,
        )

    def _columns(self) -> list[str]:
        return list(dict.fromkeys(self.hosts[row] for rows in self.cells for row in rows))

    def surprises(self, locations: Locations) -> dict[int, float]:
        """Return for each row the probability of a host so far from the others' prediction.

        It is a two-sided p-value, corrected for the number of hosts of the cell. Cells with fewer
        than `FEWEST_TO_NAME` hosts are skipped.
        """
        found: dict[int, float] = {}
        for column, host in enumerate(self._columns()):
            named = {
                cell: row
                for cell, rows in enumerate(self.cells)
                for row in rows
                if self.hosts[row] == host and len(rows) >= FEWEST_TO_NAME
            }
            if named:
                cells = [*named]
                chances = _chances(locations, cells, column, self.expected)
                counts = [len(self.cells[cell]) for cell in cells]
                for row, chance, count in zip(named.values(), chances, counts, strict=True):
                    found[row] = min(1.0, chance * count)
        return found


def _chances(
    locations: Locations, cells: Sequence[int], column: int, expected: Expectation
) -> list[float]:
    """Return the two-sided p-value of a column's values given the values of the other columns."""
    from scipy.special import stdtr

    others = locations.present[cells]
    others[:, column] = 0
    without = Locations(
        mean=locations.mean[cells],
        variance=locations.variance[cells],
        present=others,
        freedom=locations.freedom[cells],
        contender=[locations.contender[cell] for cell in cells],
    )
    weight = weigh_restarts(without, expected)
    given = without.conditional()
    own = locations.variance[cells, column][:, None]
    scale = np.sqrt(np.square(given.scale) + np.square(TAU_GRID)[None, :] + own)
    distance = np.abs(locations.mean[cells, column][:, None] - given.center)
    chances: list[float] = (
        (2 * weight * stdtr(given.freedom, -distance / scale)).sum(axis=1).tolist()
    )
    return chances


@dataclass(frozen=True)
class JoinedHosts:
    """Cells combined over their hosts."""

    mixture: Mixture
    """The distribution of each cell."""
    surprises: Mapping[int, float]
    """Row -> probability of a host so far from the prediction of at least two others."""


def join_hosts(
    mixture: Mixture,
    cells: Sequence[Sequence[int]],
    hosts: Sequence[str],
    contenders: Sequence[str],
    expected: Expectation = HOSTS,
) -> JoinedHosts:
    """Combine the rows of each cell; a cell with one row stays as it is.

    `mixture` and `hosts` are by row; `cells` has the rows of each cell; `contenders` is by cell.
    `expected` is the prior of omega.
    """
    first = [rows[0] for rows in cells]
    several = [index for index, rows in enumerate(cells) if len(rows) > 1]
    if not several:
        return JoinedHosts(_taken(mixture, first), {})
    of_several = [cells[index] for index in several]
    rows = HostRows(Students.nearest(mixture), of_several, hosts, expected)
    locations = rows.locations([contenders[index] for index in several])
    joined = locations.mixture(weigh_restarts(locations, expected))
    whole = _taken(mixture, first)
    for array, of_hosts in (
        (whole.weight, joined.weight),
        (whole.center, joined.center),
        (whole.scale, joined.scale),
        (whole.freedom, joined.freedom),
    ):
        array[several] = of_hosts
    return JoinedHosts(whole, rows.surprises(locations))


def _taken(mixture: Mixture, rows: Sequence[int]) -> Mixture:
    return Mixture(
        weight=mixture.weight[rows],
        center=mixture.center[rows],
        scale=np.broadcast_to(mixture.scale, mixture.weight.shape)[rows],
        freedom=np.broadcast_to(mixture.freedom, mixture.weight.shape)[rows],
    )


def by_host(cells: Sequence[BlockRatios], hosts: Hosts) -> list[list[BlockRatios]]:
    if len(hosts.groups) < 2:
        return [list(cells)]
    return [
        [part for cell in cells if (part := cell.on(hosts.numbers(host))).every_number]
        for host in hosts.groups
    ]


def split(numbers: Sequence[int], hosts: Hosts) -> list[tuple[str, Collection[int]]]:
    """Return each host with its starts among `numbers`."""
    return [
        (host, [number for number in numbers if hosts.of.get(number, "") == host])
        for host in hosts.names(numbers)
    ]
