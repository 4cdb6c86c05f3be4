"""Explanations of results: the parts of the change of the time per operation, with intervals.

Each part is located in each start by the totals of its blocks, and starts are combined as for
throughput: jackknife noise within starts, effects of restarts between them. The parts of a start
add up to its change, and so do their means. The part of the instructions is a weight x ln(ratio of
instructions): only the weight has the noise of time.

Parts that cannot be separated are one part. If CPU times exceed the time per operation, threads
worked concurrently with the session, and their share of the waiting is unknown. User and system CPU
are separated by clock ticks, which hit a short slice only a few times: both are used only if the
split of their sum is more precise than the change to be explained.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowdust.analysis.comparison import total_of
from slowdust.analysis.model import Explanation, Part, PartName, Result, Work
from slowdust.analysis.results.compared import Pair, pairs_of
from slowdust.benchmarks.model import leaves_rows
from slowdust.stats.blocks import Step
from slowdust.stats.estimate import relate
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.location import FloatArray, Location
from slowdust.stats.relative import HALF_WIDTH
from slowdust.store.measured import OTHERS
from slowdust.store.slice import Slice
from slowdust.units import known

QUANTITIES = ("time", "operations", "server", "sampled", "user", "client")
"""Totals of a block and contender, in seconds unless counted: client time, operations (a count),
server CPU, server CPU of slices that separate user from system mode, user CPU of those, client
CPU."""
_CLIENT = ("cpu_user_s", "cpu_system_s")
GOOD_PART = 0.25
"""Smallest share of the change for a part to be named."""
_TOLERANCE = 0.02
"""Largest excess of CPU times over the time per operation, as a share of it, that is a measurement
error. With more, threads of the server must have worked concurrently with the session."""
SMALL_BACKGROUND = 0.05
"""Background instructions / session instructions up to which the background is neglected."""
FAR = 5.0
"""Distance of a block from the median, in standard deviations estimated from the median absolute
deviation, beyond which it is excluded: the verdict is about typical blocks."""
_DEVIATIONS = 1.4826
"""Standard deviation of normal values / median absolute deviation."""
_FACTORS: frozenset[PartName] = frozenset(
    ("instructions", "time per instruction", "other server CPU")
)
"""Parts that are computed from counted instructions."""
_US_PER_S = 1e6
_OPERATIONS = QUANTITIES.index("operations")


@dataclass(frozen=True)
class Times:
    """Seconds per operation; arrays whose last axis is the contender and the base."""

    total: FloatArray
    server: FloatArray
    """CPU time of all server processes."""
    user: FloatArray | None
    """The part in user mode; None if the modes were not separated."""
    client: FloatArray

    @property
    def waiting(self) -> FloatArray:
        """The rest; negative if threads of the server worked concurrently with the session."""
        rest: FloatArray = self.total - self.server - self.client
        return rest


def slice_totals(record: Slice, cpus: int | None) -> list[float] | None:
    """Return the `QUANTITIES` of a slice; None if the time or a CPU time was not measured."""
    measured = record.measured
    server, client = measured.used("server", "cpu_s"), measured.used("client", *_CLIENT)
    _, seconds = total_of(record)
    operations = measured.operations
    if server is None or client is None or seconds is None or operations is None:
        return None
    user = measured.used("server", "cpu_user_s")
    busy = min(record.place.clients, cpus or record.place.clients)
    sampled = 0.0 if user is None else server
    return [busy * seconds, operations, server, sampled, user or 0.0, client]


def times_per_operation(totals: FloatArray) -> Times:
    """Return times per operation from totals of shape (..., 2, quantities)."""
    time, operations, server, sampled, user, client = np.moveaxis(totals, -1, 0)
    has_modes = bool((sampled > 0).all())
    return Times(
        total=time / operations,
        server=server / operations,
        user=server / operations * user / sampled if has_modes else None,
        client=client / operations,
    )


def log_mean(values: FloatArray) -> FloatArray:
    """Return the logarithmic mean of the pairs along the last axis, both positive."""
    a, b = values[..., 0], values[..., 1]
    logs = np.log(a / b)
    small = np.abs(logs) < 1e-6
    mean: FloatArray = np.where(small, (a + b) / 2, (a - b) / np.where(small, 1.0, logs))
    return mean


def log_contribution(part: FloatArray, total: FloatArray) -> FloatArray:
    """Return a part's contribution to ln(contender's total / base's total)."""
    change: FloatArray = (part[..., 0] - part[..., 1]) / log_mean(total)
    return change


def block_totals(blocks: Sequence[Sequence[Sequence[Slice]]], cpus: int | None) -> FloatArray:
    """Return the totals of blocks; each block has the contender's slices and the base's.

    The shape is (blocks, 2, quantities). Blocks with an unmeasured quantity are skipped.
    """
    totals = []
    for block in blocks:
        sides = [[slice_totals(record, cpus) for record in side] for side in block]
        complete = [[row for row in side if row is not None] for side in sides]
        if all(len(rows) == len(side) for rows, side in zip(complete, sides, strict=True)):
            totals.append([np.sum(rows, axis=0) for rows in complete])
    return np.array(totals, dtype=np.float64).reshape(-1, 2, len(QUANTITIES))


@dataclass(frozen=True)
class _Cell:
    """A result to be explained, with the totals of its blocks."""

    result: Result
    incarnations: tuple[FloatArray, ...]
    """Totals of the blocks of each start, shape (blocks, 2, quantities)."""
    numbers: tuple[int, ...]
    """Numbers of these starts."""
    names: tuple[PartName, ...]

    @property
    def share(self) -> FloatArray:
        blocks = np.array([len(blocks) for blocks in self.incarnations], dtype=np.float64)
        shares: FloatArray = blocks / blocks.sum()
        return shares

    @property
    def log_instructions(self) -> float:
        """ln(instructions / the base's); 0 if they are not a part."""
        ratio = self.result.work and self.result.work.ratio
        return math.log(ratio.value) if ratio and ratio.value else 0.0

    def changes(self, totals: FloatArray) -> FloatArray:
        """Return the whole change, the changes of the parts, and the weight of user CPU.

        `totals` has shape (..., 2, quantities), the result (..., parts + 2).
        """
        times = times_per_operation(totals)
        parts = [_change(name, times, self.log_instructions) for name in self.names]
        weight = _weight(times) if "instructions" in self.names else np.zeros_like(parts[0])
        return np.stack([np.log(times.total[..., 0] / times.total[..., 1]), *parts, weight], -1)


def add_explanations(
    results: Sequence[Result],
    slices: Sequence[Slice],
    contenders: Sequence[str],
    hosts: Hosts = ONE_HOST,
) -> None:
    """Set `explanation` of each result with blocks compared with the base's, `contenders[0]`.

    Call it after counted work was added. Long steps, open loops and single runs are skipped.
    """
    measured = [
        record
        for record in slices
        if record.step is None and record.measured.schedule is None and record.printed is None
    ]
    cpus = {int(count) for record in measured if (count := record.measured.used(OTHERS, "cpus"))}
    by_place = {
        (Step.of(result), result.contender): result
        for result in results
        if result.typical is not None
    }
    cells = known(
        _cell(pair, by_place[pair.step, pair.contender], min(cpus, default=None))
        for pair in pairs_of(measured, contenders)
        if (pair.step, pair.contender) in by_place
    )
    cells = [
        _coarser(cell) if _is_blurred(cell, changes, reaches) else cell
        for cell, changes, reaches in zip(cells, *_located(cells, hosts), strict=True)
    ]
    for cell, changes, reaches in zip(cells, *_located(cells, hosts), strict=True):
        cell.result.explanation = _explanation(cell, changes, reaches)


def _cell(pair: Pair, result: Result, cpus: int | None) -> _Cell | None:
    """Return the cell of a pair; None if nothing was measured or either contender did nothing."""
    by_number = {
        number: block_totals([(block[pair.contender], block[pair.base]) for block in blocks], cpus)
        for number, blocks in pair.complete_blocks().items()
    }
    if result.basis != "all time":
        by_number = {number: _typical(totals) for number, totals in by_number.items()}
    by_number = {number: totals for number, totals in by_number.items() if len(totals)}
    incarnations = [*by_number.values()]
    if not incarnations or any((_without(t)[..., _OPERATIONS] <= 0).any() for t in incarnations):
        return None
    whole = times_per_operation(np.concatenate(incarnations).sum(axis=0))
    every = [times_per_operation(_without(totals)) for totals in incarnations]
    names = _names(whole, every, result)
    return _Cell(result, tuple(incarnations), tuple(by_number), names)


def _typical(totals: FloatArray) -> FloatArray:
    """Return the totals of a start without outlying blocks."""
    busy: FloatArray = totals[(totals[..., _OPERATIONS] > 0).all(axis=1)]
    if not len(busy):
        return busy
    times = times_per_operation(busy).total
    ratios = np.log(times[:, 0] / times[:, 1])
    distance = np.abs(ratios - np.median(ratios))
    near: FloatArray = busy[distance <= FAR * _DEVIATIONS * np.median(distance)]
    return near


def _without(totals: FloatArray) -> FloatArray:
    """Return the sums of a start without each of its blocks; for a single block, its own."""
    return totals if len(totals) < 2 else totals.sum(axis=0) - totals


def _names(whole: Times, every: Sequence[Times], result: Result) -> tuple[PartName, ...]:
    if (whole.waiting < -_TOLERANCE * whole.total).any():
        return "server", "client CPU"
    users = known(times.user for times in every)
    if len(users) < len(every):
        return "server CPU", "client CPU", "waiting"
    work = result.work
    if work is not None and work.ratio is not None and all((user > 0).all() for user in users):
        if _is_all_user_cpu(result, work):
            return "instructions", "time per instruction", "system CPU", "client CPU", "waiting"
        return "instructions", "other server CPU", "client CPU", "waiting"
    return "user CPU", "system CPU", "client CPU", "waiting"


def _is_all_user_cpu(result: Result, work: Work) -> bool:
    """Return whether the counted instructions explain all of the measured user CPU.

    They are if the same number of clients was counted and timed, and if the server did hardly
    anything else. valgrind counts only the session: a test that writes then has an unknown
    background; a test that only reads is assumed to have none, since no slice measures the
    session's CPU time separately.
    """
    if work.clients != result.clients:
        return False
    if work.background_share is not None:
        return work.background_share <= SMALL_BACKGROUND
    return leaves_rows(result.group) and result.beside is None


def _is_blurred(cell: _Cell, changes: FloatArray, reaches: Sequence[float | None]) -> bool:
    if "system CPU" not in cell.names:
        return False
    reach = reaches[1 + cell.names.index("system CPU")]
    return reach is None or reach > GOOD_PART * abs(changes[0])


def _coarser(cell: _Cell) -> _Cell:
    cpu: tuple[PartName, ...] = ("server CPU",)
    if "instructions" in cell.names:
        cpu = ("instructions", "other server CPU")
    return replace(cell, names=(*cpu, "client CPU", "waiting"))


def _time(name: PartName, times: Times) -> FloatArray | None:
    """Return the time per operation of a part; None for the factors of user CPU."""
    user = times.server if times.user is None else times.user
    return {
        "user CPU": user,
        "system CPU": times.server - user,
        "server CPU": times.server,
        "client CPU": times.client,
        "waiting": times.waiting,
        "server": times.total - times.client,
    }.get(name)


def _change(name: PartName, times: Times, log_instructions: float) -> FloatArray:
    if (time := _time(name, times)) is not None:
        return log_contribution(time, times.total)
    instructions: FloatArray = _weight(times) * log_instructions
    if name == "instructions":
        return instructions
    cpu = times.user if name == "time per instruction" else times.server
    assert cpu is not None, "user CPU has factors only where it was measured"
    return log_contribution(cpu, times.total) - instructions


def _weight(times: Times) -> FloatArray:
    """Return the effect of a factor of user CPU on ln(total)."""
    assert times.user is not None, "user CPU has factors only where it was measured"
    weight: FloatArray = log_mean(times.user) / log_mean(times.total)
    return weight


def _located(
    cells: Sequence[_Cell], hosts: Hosts
) -> tuple[list[FloatArray], list[list[float | None]]]:
    """Return the changes of each cell (`_Cell.changes`) and the half-widths of their intervals."""
    centers: list[FloatArray] = []
    reaches: list[list[float | None]] = []
    families: dict[str, list[tuple[int, int, Mapping[int, Location]]]] = defaultdict(list)
    for index, cell in enumerate(cells):
        values = np.array([cell.changes(totals.sum(axis=0)) for totals in cell.incarnations])
        without = [cell.changes(_without(totals)) for totals in cell.incarnations]
        centers.append(cell.share @ values)
        reaches.append([None] * (len(cell.names) + 1))
        if sum(map(len, without)) < 2:
            continue
        for column, name in enumerate(("", *cell.names)):
            if name == "instructions":
                weight = _reach_of_weight(cell.share, [each[:, -1] for each in without])
                reaches[index][column] = abs(cell.log_instructions) * weight
                continue
            locations = {
                number: _jackknife(float(value), each[:, column])
                for number, value, each in zip(
                    cell.numbers, values[:, column], without, strict=True
                )
            }
            families[name].append((index, column, locations))
    for family in families.values():
        related = relate(
            [locations for *_, locations in family],
            [cells[index].result.contender for index, *_ in family],
            hosts,
        )
        for (index, column, _), relative in zip(family, related, strict=True):
            if (interval := relative.interval) is not None:
                reaches[index][column] = (math.log(interval.high) - math.log(interval.low)) / 2
    return centers, reaches


def _reach_of_weight(share: FloatArray, without: Sequence[FloatArray]) -> float:
    """Return the half-width of the 95% interval of the mean weight of user CPU.

    `share` is the share of each start in the mean, `without` has its weights without each block.
    The interval of the counts has the effect of restarts on the ratio of instructions.
    """
    variances = np.array([(len(each) - 1) * np.var(each) for each in without])
    return HALF_WIDTH * math.sqrt(float(share**2 @ variances))


def _jackknife(value: float, without: FloatArray) -> Location:
    blocks = len(without)
    influence = (without.mean() - without) * (blocks - 1) / blocks
    return Location(mean=value, size=float(blocks), influence=influence)


def _explanation(cell: _Cell, changes: FloatArray, reaches: Sequence[float | None]) -> Explanation:
    times = times_per_operation(np.concatenate(cell.incarnations).sum(axis=0))
    us, base_us = (times.total * _US_PER_S).tolist()
    whole, *values, weight = changes.tolist()
    reach_of_whole, *reaches_of_parts = reaches
    ratio = None if cell.result.work is None else cell.result.work.ratio
    counted = None if ratio is None or ratio.half_width is None else weight * ratio.half_width
    parts = []
    for name, value, of_blocks in zip(cell.names, values, reaches_of_parts, strict=True):
        part = Part(name=name, change=value)
        if (time := _time(name, times)) is not None:
            part.us, part.base_us = (time * _US_PER_S).tolist()
        reach = of_blocks
        if name in _FACTORS and of_blocks is not None:
            # Blocks and counts were measured independently, so squares add up.
            reach = None if counted is None else math.hypot(of_blocks, counted)
        if reach is not None:
            part.low, part.high = value - reach, value + reach
        parts.append(part)
    return Explanation(
        base_us=base_us,
        us=us,
        change=whole,
        low=None if reach_of_whole is None else whole - reach_of_whole,
        high=None if reach_of_whole is None else whole + reach_of_whole,
        parts=parts,
        main=_main(cell.result, whole, parts),
    )


def _main(result: Result, whole: float, parts: Sequence[Part]) -> list[PartName]:
    """Return the main parts of a change; empty if it has another plan or stalls as its reason."""
    changed = result.verdict == ("slower" if whole > 0 else "faster")
    if not changed or result.basis != "typical" or result.has_other_plan:
        return []
    sign = math.copysign(1.0, whole)
    main = [
        part
        for part in parts
        if part.change * sign >= GOOD_PART * abs(whole)
        and part.is_certain
        and (
            part.name != "instructions"
            or (result.work is not None and result.work.verdict in ("more", "less"))
        )
    ]
    return [part.name for part in sorted(main, key=lambda part: -abs(part.change))]
