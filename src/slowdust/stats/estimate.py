"""Relative throughput with its interval, from blocks nested in starts of the servers.

The model, for one step and one contender, of the location m of start i (`location.py`):

    m_i = theta + u_i + e_i        u_i ~ N(0, tau^2): effect of the restart
                                   e_i ~ N(0, v_i):   remaining noise of the blocks

Two to four starts say little about tau. An interval that ignores this is absurdly wide (Student's t
with one degree of freedom) or far too narrow (tau estimated as 0). Hence tau is integrated over its
posterior instead of being estimated (Roever 2020, J. Stat. Softw. 93(6)). The posterior combines
three sources: a weakly informative half-Student prior (Gelman 2006, Bayesian Analysis 1) with a
scale that is usual for restarts; the starts of the step itself; and the starts of the experiment's
other steps and contenders, discounted to a fixed weight. The last is a power prior (Ibrahim and
Chen 2000, Stat. Sci. 15) in the role of the shared variance of Smyth (2004, SAGMB 3). If a step's
restarts contradict the others, they count alone: a robust mixture (Schmidli et al. 2014, Biometrics
70). docs/statistics.md has the formulas and the coverage of the intervals.

For chunks of long steps m_i is the ratio of totals: a step does its work once, and rare events are
part of it. Long steps that run whole have one pair in each start, so restarts and noise cannot be
separated: u_i contains both, v_i is close to 0, and the prior on tau is `posterior.LONG_STEPS`.

Measurements of several hosts are estimated host by host and combined in `hosts.py`. A single host
skips that step.

The typical ratio excludes rare events, including stalls of one contender. So the ratio of totals is
estimated too (`AllTime`): the same model with ln(operations / time) of a whole start as m_i, and
with the typical ratio's posterior of tau, which has more information about restarts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from slowdust.stats.blocks import BlockRatios, Parts, Step
from slowdust.stats.hosts import ONE_HOST, Hosts, join_hosts, split
from slowdust.stats.location import FloatArray, Location, Pooled, difference, pool
from slowdust.stats.mixture import Mixture
from slowdust.stats.posterior import (
    CHUNKS,
    HOSTS,
    LONG_STEPS,
    RESTARTS,
    TAU_GRID,
    Expectation,
    Locations,
    weigh_restarts,
)
from slowdust.stats.relative import AllTime, Estimate, HostRatio, Relative, related
from slowdust.units import known

STEP_NOISE = 0.001
"""Smallest noise of a pair of long steps: the clock, the last statement and whole seconds of a
load. All other noise is part of tau."""
KNOWN = 1e6
"""Degrees of freedom of a known variance."""
DISAGREEMENT = 0.9
"""Probability of a tau above the expected scale at which restarts are said to disagree."""


@dataclass(frozen=True)
class Located:
    """The starts of a cell, by number."""

    numbers: tuple[int, ...]
    pooled: Pooled


def has_totals(cell: BlockRatios) -> bool:
    return bool(cell.all_time) and sum(len(of_one.amount) for of_one in cell.totals.values()) >= 2


def slices(cell: BlockRatios) -> Located:
    """Return the typical ratios, or the ratios of totals for a cell without typical ratios."""
    return located(cell.typical if cell.blocks >= 2 else cell.all_time)


def chunks(cell: BlockRatios) -> Located:
    """Return the ratios of totals: all work of a step over all of its time."""
    return located(cell.all_time if has_totals(cell) else cell.typical)


def located(locations: Mapping[int, Location]) -> Located:
    """Return locations by number of the start, with the pooled noise of their blocks."""
    return Located(tuple(locations), pool([*locations.values()]))


def pairs(cell: BlockRatios) -> Located:
    """Return one pair for each start; tau covers both noise and restarts."""
    mean: FloatArray = np.array([pairs.mean() for pairs in cell.by_incarnation])
    return Located(cell.numbers, Pooled(mean, np.full(len(mean), STEP_NOISE**2), KNOWN))


def arrange(contenders: Sequence[str], cells: Sequence[Located]) -> Locations:
    """Return arrays with a row for each cell and a column for each start of any cell."""
    numbers = sorted({number for cell in cells for number in cell.numbers})
    shape = (len(cells), len(numbers))
    mean, variance, present = np.zeros(shape), np.ones(shape), np.zeros(shape)
    for row, cell in enumerate(cells):
        columns = [numbers.index(number) for number in cell.numbers]
        mean[row, columns] = cell.pooled.mean
        variance[row, columns] = cell.pooled.variance
        present[row, columns] = 1
    return Locations(
        mean=mean,
        variance=variance,
        present=present,
        freedom=np.array([cell.pooled.freedom for cell in cells]),
        contender=contenders,
    )


def estimate_all(
    cells: Sequence[BlockRatios],
    restarts: Expectation = RESTARTS,
    hosts: Hosts = ONE_HOST,
    between: Expectation = HOSTS,
) -> list[Estimate]:
    """Estimate each cell; the cells of one call inform each other about restarts and hosts.

    `restarts` is the prior for restarts of slices, `between` the prior for hosts. Cells of long
    steps inform only each other. The result has the order of `cells`.
    """
    usable = [cell for cell in cells if cell.blocks >= 2 or has_totals(cell)]
    ways: dict[Parts, tuple[Callable[[BlockRatios], Located], Expectation]] = {
        "slices": (slices, restarts),
        "chunks": (chunks, CHUNKS),
        "steps": (pairs, LONG_STEPS),
    }
    solved = {
        id(cell): estimate
        for parts, (locate, expected) in ways.items()
        for cell, estimate in _solve(
            [cell for cell in usable if cell.parts == parts], locate, expected, hosts, between
        )
    }
    return [
        solved.get(id(cell)) or Estimate(**vars(_only_ratio(cell)), **_facts(cell))
        for cell in cells
    ]


def estimate_pairs(cells: Sequence[BlockRatios], shared: Sequence[float]) -> list[Estimate]:
    """Estimate cells with one pair in each of two or more starts, each from its own pairs.

    The interval is Student's t of the mean, without a prior, for pairs whose scatter says nothing
    about other steps. `shared` has for each cell the standard error that all of its pairs share:
    more pairs do not reduce it.
    """
    if not cells:
        return []
    pooled = [pairs(cell).pooled for cell in cells]
    counts = np.array([[len(each.mean)] for each in pooled])
    variance = np.array([[each.mean.var(ddof=1) + STEP_NOISE**2] for each in pooled]) / counts
    mixture = Mixture(
        weight=np.ones(counts.shape),
        center=np.array([[each.mean.mean()] for each in pooled]),
        scale=np.sqrt(variance + np.square(shared)[:, None]),
        freedom=counts - 1.0,
    )
    return [
        Estimate(**vars(relative), **_facts(cell))
        for cell, relative in zip(cells, related(mixture), strict=True)
    ]


def relate(
    cells: Sequence[Mapping[int, Location]], contenders: Sequence[str], hosts: Hosts = ONE_HOST
) -> list[Relative]:
    """Relate cells that are already located: number of the start -> log ratio of its blocks.

    `contenders` has the contender of each cell. The cells of one call inform each other. A cell
    without two blocks on any host has no interval.
    """
    rows: list[Located] = []
    of_cells: dict[int, list[int]] = {}
    names: list[str] = []
    for index, cell in enumerate(cells):
        for host, numbers in split([*cell], hosts):
            own = {number: cell[number] for number in numbers}
            if sum(len(location.influence) for location in own.values()) >= 2:
                of_cells.setdefault(index, []).append(len(rows))
                names.append(host)
                rows.append(located(own))
    if not rows:
        return [Relative(ratio=None) for _ in cells]
    of_rows = [contenders[index] for index, own in of_cells.items() for _ in own]
    locations = arrange(of_rows, rows)
    mixture = locations.mixture(weigh_restarts(locations, RESTARTS))
    joined = join_hosts(
        mixture, [*of_cells.values()], names, [contenders[index] for index in of_cells]
    )
    relatives = dict(zip(of_cells, related(joined.mixture), strict=True))
    return [relatives.get(index, Relative(ratio=None)) for index in range(len(cells))]


def _only_ratio(cell: BlockRatios) -> Relative:
    return Relative(ratio=math.exp(cell.by_incarnation[0].mean()) if cell.blocks else None)


class _Facts(TypedDict):
    step: Step
    contender: str
    blocks: int
    incarnations: int
    incomplete: int
    with_zero: int


def _facts(cell: BlockRatios) -> _Facts:
    return _Facts(
        step=cell.step,
        contender=cell.contender,
        blocks=cell.blocks,
        incarnations=len(cell.by_incarnation) or len(cell.totals),
        incomplete=cell.incomplete,
        with_zero=cell.with_zero,
    )


@dataclass(frozen=True)
class _Row:
    """The part of a cell that one host measured."""

    cell: int
    """Index of the cell."""
    host: str
    ratios: BlockRatios


def _rows(index: int, cell: BlockRatios, hosts: Hosts) -> list[_Row]:
    """Return the rows of a cell; no rows if a contender did nothing on one of its hosts."""
    parts = split(cell.every_number, hosts)
    if len(parts) < 2:
        return [_Row(index, host, cell) for host, _ in parts]
    rows = [_Row(index, host, cell.on(numbers)) for host, numbers in parts]
    if any(row.ratios.totals and not row.ratios.all_time for row in rows):
        return []
    return [row for row in rows if _has_noise(row.ratios)]


def _has_noise(ratios: BlockRatios) -> bool:
    """Return whether a host's part can be estimated; for a pair of long steps noise is assumed."""
    fewest = 1 if ratios.parts == "steps" else 2
    return ratios.blocks >= fewest or has_totals(ratios)


def _solve(
    cells: Sequence[BlockRatios],
    locate: Callable[[BlockRatios], Located],
    expected: Expectation,
    hosts: Hosts,
    between: Expectation,
) -> Iterator[tuple[BlockRatios, Estimate]]:
    rows = [row for index, cell in enumerate(cells) for row in _rows(index, cell, hosts)]
    if not rows:
        return
    locations = arrange([row.ratios.contender for row in rows], [locate(r.ratios) for r in rows])
    weight = weigh_restarts(locations, expected)
    typical = _Related.of(cells, rows, locations.mixture(weight), between)
    all_time = _all_time(cells, rows, weight, between)
    beyond_scale = weight[:, expected.scale < TAU_GRID].sum(axis=1)
    for index, own in _by_cell(rows).items():
        cell = cells[index]
        spreads = known(_spread(locations, row) for row in own)
        yield (
            cell,
            Estimate(
                **vars(typical.cells[index] if cell.blocks >= 2 else _only_ratio(cell)),
                all_time=None if all_time is None else _all_time_of(cell, index, all_time),
                restart_spread=_mean_square(spreads),
                restarts_disagree=any(
                    locations.present[row].sum() > 1 and beyond_scale[row] > DISAGREEMENT
                    for row in own
                ),
                hosts=tuple(_host_ratio(rows[row], row, typical, all_time) for row in own)
                if any(rows[row].ratios is not cell for row in own)
                else (),
                **_facts(cell),
            ),
        )


@dataclass(frozen=True)
class _Related:
    """Ratios by index of the cell, and by index of the row."""

    cells: Mapping[int, Relative]
    rows: Mapping[int, Relative]
    surprises: Mapping[int, float]

    @classmethod
    def of(
        cls,
        cells: Sequence[BlockRatios],
        rows: Sequence[_Row],
        mixture: Mixture,
        between: Expectation,
        indices: Sequence[int] | None = None,
    ) -> _Related:
        """Relate rows; `indices` are their positions among all rows, by default 0, 1, ..."""
        indices = indices or range(len(rows))
        own = _by_cell(rows)
        joined = join_hosts(
            mixture,
            [*own.values()],
            [row.host for row in rows],
            [cells[index].contender for index in own],
            between,
        )
        are_split = any(row.ratios is not cells[row.cell] for row in rows)
        of_rows = related(mixture) if are_split else []
        return cls(
            cells=dict(zip(own, related(joined.mixture), strict=True)),
            rows=dict(zip(indices, of_rows, strict=False)),
            surprises={indices[row]: value for row, value in joined.surprises.items()},
        )


def _by_cell(rows: Sequence[_Row]) -> dict[int, list[int]]:
    """Return index of the cell -> indices of its rows."""
    cells: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        cells.setdefault(row.cell, []).append(place)
    return cells


def _host_ratio(row: _Row, place: int, typical: _Related, all_time: _Related | None) -> HostRatio:
    surprise = typical.surprises.get(place)
    return HostRatio(
        host=row.host,
        typical=typical.rows[place],
        all_time=None if all_time is None else all_time.rows.get(place),
        blocks=row.ratios.blocks,
        incarnations=len(row.ratios.by_incarnation) or len(row.ratios.totals),
        surprise=surprise,
    )


def _mean_square(spreads: Sequence[float]) -> float | None:
    """Return the spread of restarts, averaged over hosts."""
    if len(spreads) < 2:
        return spreads[0] if spreads else None
    return math.sqrt(float(np.square(spreads).mean()))


def _all_time(
    cells: Sequence[BlockRatios], rows: Sequence[_Row], weight: FloatArray, between: Expectation
) -> _Related | None:
    indices = [
        index
        for index, row in enumerate(rows)
        if row.ratios.parts == "slices" and has_totals(row.ratios)
    ]
    if not indices:
        return None
    with_totals = [rows[index] for index in indices]
    locations = arrange(
        [row.ratios.contender for row in with_totals],
        [located(row.ratios.all_time) for row in with_totals],
    )
    return _Related.of(cells, with_totals, locations.mixture(weight[indices]), between, indices)


def _all_time_of(cell: BlockRatios, index: int, all_time: _Related) -> AllTime | None:
    relative = all_time.cells.get(index)
    if relative is None:
        return None
    return AllTime(**vars(relative), **_to_typical(cell), silent=cell.silent)


class _ToTypical(TypedDict):
    to_typical: float | None
    to_typical_p: float | None


def _to_typical(cell: BlockRatios) -> _ToTypical:
    from scipy.special import stdtr

    if cell.blocks < 2 or cell.silent:
        return _ToTypical(to_typical=None, to_typical_p=None)
    differences = [
        difference(total, cell.typical[number], cell.totals[number].compared)
        for number, total in cell.all_time.items()
        if number in cell.typical
    ]
    pooled = pool(differences)
    share = np.array([location.size for location in differences])
    share /= share.sum()
    center = float(share @ pooled.mean)
    error = math.sqrt(float(np.square(share) @ pooled.variance))
    p_value = 2 * float(stdtr(pooled.freedom, -abs(center) / error))
    return _ToTypical(to_typical=math.exp(center), to_typical_p=p_value)


def _spread(locations: Locations, index: int) -> float | None:
    means = locations.mean[index][locations.present[index] > 0]
    return float(means.std(ddof=1)) if len(means) > 1 else None
