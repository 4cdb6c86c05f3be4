"""Simulated experiments: seeded slices of contenders whose true ratios are known.

    manifest, slices = synthetic_experiment(
        ["postgres@15.8", "postgres@17.6"],
        ["point-query", "update-index"],
        shifts={"postgres@17.6": {"point-query": 0.95}},
        seed=1,
    )

`synthetic_rates` is the model of the noise alone, for simulations of thousands of experiments.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.location import BlockTotals
from slowdust.store.latency import Histogram
from slowdust.store.manifest import BuildFacts, ContenderFacts, Manifest, Method, Plan
from slowdust.store.measured import Measured, PerSecond, Use
from slowdust.store.slice import SCHEMA, Place, Slice

FloatArray = npt.NDArray[np.float64]
Shifts = Mapping[str, float | Mapping[str, float]]
"""Contender -> true rqps, of all tests, by test or by `TEST@CLIENTS`; what is not named is 1."""

SLICE_S = 0.25
_STARTED = 1_760_000_000.0
_WRITING = ("update", "write", "read-write", "delete", "insert")

T = TypeVar("T")


@dataclass(frozen=True)
class Noise:
    """Noise of a shared machine in ln QPS; each is a standard deviation unless it says not."""

    slice: float = 0.02
    """Noise of one slice, Student's t with `tail_freedom`."""
    tail_freedom: float = 3.0
    stolen_share: float = 0.05
    """Share of the slices that another tenant slows down, by up to half."""
    drift: float = 0.2
    """Drift of the machine's speed over minutes: 0.2 is 2x within an experiment."""
    drift_time_s: float = 60.0
    regime_s: float | None = None
    """Mean time after which the machine becomes twice as slow, and then as fast as before; None
    if it does not. Slices have its mean speed."""
    stalled_share: float = 0.0
    """Share of slices with a stall of the machine: they have a tenth of the speed."""
    contender_stalls: float = 0.0
    """Share of slices with a stall of the contender, for all but the base."""
    restart: float | tuple[float, ...] = 0.005
    """Change by a restart of one contender and test, for a whole incarnation; by test."""
    restart_shared: float = 0.0
    """Share of the restart's variance that is common to all tests of a contender."""


STALL = 0.1
"""Speed in a slice with a stall."""
QUIET = Noise(slice=0.002, tail_freedom=30.0, stolen_share=0.0, drift=0.0, restart=0.0)


@dataclass(frozen=True)
class Hardware:
    """Costs of an operation of a contender, as multiples of the base's."""

    cpu: float = 1.0
    switches: float = 1.0
    reads: float = 1.0
    writes: float = 1.0


@dataclass
class Rates:
    """True draws: arrays of shape (tests, incarnations, blocks, slots)."""

    log_qps: FloatArray
    """Relative to the test's own level."""
    contender: npt.NDArray[np.int64]
    """Index of the contender in each slot."""
    offset_s: FloatArray = field(repr=False)
    """Start of the slice since the start of the experiment."""


def synthetic_rates(
    log_shifts: FloatArray,
    *,
    noise: Noise,
    incarnations: int,
    blocks: int,
    rng: np.random.Generator,
) -> Rates:
    """Draw the slices of one experiment from `log_shifts`, shape (tests, contenders)."""
    tests, contenders = log_shifts.shape
    shape = (tests, incarnations, blocks, 2 * contenders)
    forth = rng.permuted(np.broadcast_to(np.arange(contenders), (*shape[:3], contenders)), axis=3)
    order = np.concatenate((forth, forth[..., ::-1]), axis=3)
    # Incarnation by incarnation all tests run, one after the other.
    clock = np.arange(np.prod(shape)).reshape(incarnations, tests, blocks, 2 * contenders)
    offset = clock.transpose(1, 0, 2, 3) * SLICE_S * 1.1
    common = rng.normal(size=(1, incarnations, contenders))
    own = rng.normal(size=(tests, incarnations, contenders))
    shared = noise.restart_shared
    size = np.broadcast_to(np.asarray(noise.restart), (tests,))[:, None, None]
    restarts = size * (np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
    levels = np.take_along_axis((log_shifts[:, None, :] + restarts)[:, :, None, :], order, axis=3)
    # A t variable has variance f / (f - 2): scaled so that `slice` is its standard deviation.
    unit = np.sqrt(1 - 2 / noise.tail_freedom)
    jitter = noise.slice * unit * rng.standard_t(noise.tail_freedom, shape)
    stolen = np.log1p(-rng.uniform(0, 0.5, shape)) * (rng.random(shape) < noise.stolen_share)
    stalls = rng.random(shape) < np.where(
        order > 0, 1 - (1 - noise.stalled_share) * (1 - noise.contender_stalls), noise.stalled_share
    )
    speed = _drift(offset, noise, rng) + _regimes(offset, noise, rng)
    return Rates(
        log_qps=levels + jitter + stolen + np.log(STALL) * stalls + speed,
        contender=order,
        offset_s=offset,
    )


def synthetic_ratios(rates: Rates, contenders: int) -> list[BlockRatios]:
    """Return the block ratios of slices: by test `t0`..., then contender `c1`..."""
    halves = rates.log_qps.reshape(*rates.log_qps.shape[:3], 2, contenders)
    order = rates.contender.reshape(halves.shape)
    by_contender = [
        np.where(order == index, halves, 0.0).sum(axis=4) for index in range(contenders)
    ]
    return [
        BlockRatios(
            step=Step("micro", f"t{test}", 1),
            contender=f"c{index}",
            by_incarnation=tuple(by_contender[index][test] - by_contender[0][test]),
            numbers=tuple(range(1, 1 + rates.log_qps.shape[1])),
            totals={
                number: _totals(log_qps[[index, 0]])
                for number, log_qps in enumerate(
                    np.stack(by_contender)[:, test].swapaxes(0, 1), start=1
                )
            },
        )
        for test in range(len(rates.log_qps))
        for index in range(1, contenders)
    ]


def shortened(cell: BlockRatios, blocks: Sequence[int]) -> BlockRatios:
    """Return the first incarnations of a cell, of each as many blocks as `blocks` says."""
    lengths = dict(zip(cell.numbers, blocks, strict=False))
    return replace(
        cell,
        by_incarnation=tuple(
            ratios[:length]
            for ratios, length in zip(cell.by_incarnation, lengths.values(), strict=False)
        ),
        numbers=tuple(lengths),
        totals={
            number: BlockTotals(
                totals.amount[: lengths[number]],
                totals.seconds[: lengths[number]],
                totals.compared[: lengths[number]],
            )
            for number, totals in cell.totals.items()
            if number in lengths
        },
    )


def _totals(log_qps: FloatArray) -> BlockTotals:
    """Return the totals of two contenders, given shape (contenders, blocks, halves)."""
    amount = np.exp(log_qps).sum(axis=2).T * SLICE_S
    return BlockTotals(
        amount=amount,
        seconds=np.full(amount.shape, 2 * SLICE_S),
        compared=np.ones(len(amount), dtype=bool),
    )


def _drift(offset: FloatArray, noise: Noise, rng: np.random.Generator) -> FloatArray:
    """An Ornstein-Uhlenbeck path over the experiment, read at `offset`."""
    count = offset.size
    keep = np.exp(-SLICE_S * 1.1 / noise.drift_time_s)
    steps = rng.normal(0, noise.drift * np.sqrt(1 - keep**2), count)
    path = np.empty(count)
    speed = rng.normal(0, noise.drift)
    for index, step in enumerate(steps.tolist()):
        speed = keep * speed + step
        path[index] = speed
    return path[np.argsort(np.argsort(offset, axis=None))].reshape(offset.shape)


def _regimes(offset: FloatArray, noise: Noise, rng: np.random.Generator) -> FloatArray:
    """ln of the mean speed in each slice of a machine that is at times twice as slow."""
    if noise.regime_s is None:
        return np.zeros(offset.shape)
    end = float(offset.max()) + SLICE_S
    lengths = rng.exponential(noise.regime_s, int(end / noise.regime_s * 1.5) + 20)
    changes = np.concatenate(([0.0], np.cumsum(lengths)))
    fast_first = rng.random() < 0.5
    speeds = np.where((np.arange(len(lengths)) % 2 == 0) == fast_first, 1.0, 0.5)
    done = np.concatenate(([0.0], np.cumsum(speeds * lengths)))
    in_slice = np.interp(offset + SLICE_S, changes, done) - np.interp(offset, changes, done)
    mean_speed: FloatArray = np.log(in_slice / SLICE_S)
    return mean_speed


def synthetic_experiment(
    contenders: Sequence[str],
    tests: Sequence[str],
    *,
    shifts: Shifts | None = None,
    hardware: Mapping[str, Hardware | Mapping[str, Hardware]] | None = None,
    noise: Noise | None = None,
    clients: Sequence[int] = (1,),
    incarnations: int = 2,
    blocks: int = 12,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """A whole experiment in the order of measuring.

    A contender's CPU per operation comes from `hardware`, else it is 1 / rqps: slower because of
    CPU.
    """
    steps = [(test, count) for test in tests for count in clients]
    log_shifts = np.log(
        [[_of_step(shifts or {}, name, step, 1.0) for name in contenders] for step in steps]
    )
    rates = synthetic_rates(
        log_shifts,
        noise=noise or Noise(),
        incarnations=incarnations,
        blocks=blocks,
        rng=np.random.default_rng(seed),
    )
    slices: list[Slice] = []
    for place in np.ndindex(rates.log_qps.shape):
        row, incarnation, block, slot = place
        name, (test, count) = contenders[int(rates.contender[place])], steps[row]
        shift = _of_step(shifts or {}, name, steps[row], 1.0)
        record = synthetic_slice(
            contender=name,
            test=test,
            clients=count,
            qps=_level(test) * count * float(np.exp(rates.log_qps[place])),
            started=_STARTED + float(rates.offset_s[place]),
            hardware=_of_step(hardware or {}, name, steps[row], Hardware(cpu=1 / shift)),
            idle=[other for other in contenders if other != name],
        )
        record.place.incarnation, record.place.block = incarnation + 1, block
        record.place.slot = slot
        slices.append(record)
    slices.sort(key=lambda record: record.measured.started or 0.0)
    return synthetic_manifest(contenders, tests, clients, incarnations, seed), slices


def synthetic_slice(
    *,
    contender: str = "postgres@15.8",
    test: str = "point-query",
    clients: int = 1,
    qps: float = 10_000.0,
    started: float = _STARTED,
    hardware: Hardware | None = None,
    idle: Sequence[str] = (),
) -> Slice:
    """One slice of the first block whose numbers agree with each other."""
    hardware = hardware or Hardware()
    operations = max(1, round(qps * SLICE_S))
    server_cpu_s = min(0.7 * SLICE_S * clients, hardware.cpu * operations * 0.6 / _level(test))
    client_cpu_s = 0.1 * server_cpu_s
    writes = test.startswith(_WRITING)
    mean_ns = 1e9 * clients * SLICE_S / operations
    return Slice(
        place=Place(benchmark="micro", test=test, clients=clients, contender=contender),
        qps=qps,
        unit="rows/s" if test == "scan" else "operations/s",
        measured=Measured(
            started=started,
            seconds=SLICE_S,
            operations=operations,
            statements=operations,
            rows=operations,
            bytes_sent=60 * operations,
            bytes_received=190 * operations,
            latency=_histogram(mean_ns, operations),
            per_second=[PerSecond(operations, int(9 * mean_ns))],
            uses={
                "client": Use(
                    cpu_user_s=0.6 * client_cpu_s,
                    cpu_system_s=0.4 * client_cpu_s,
                    voluntary_switches=operations,
                    involuntary_switches=3,
                    threads=clients,
                    busiest_thread=client_cpu_s / SLICE_S / clients,
                ),
                "server": Use(
                    cpu_s=server_cpu_s,
                    cpu_user_s=0.8 * server_cpu_s,
                    cpu_system_s=0.2 * server_cpu_s,
                    context_switches=round(hardware.switches * operations * 1.02),
                    read_bytes=round(hardware.reads * operations * 40),
                    write_bytes=round(hardware.writes * operations * (700 if writes else 20)),
                    vsz_bytes=420 << 20,
                    rss_bytes=180 << 20,
                    processes=7 + clients,
                ),
                "host": Use(
                    cpu_user_s=0.9 * server_cpu_s,
                    cpu_system_s=0.4 * server_cpu_s,
                    cpu_iowait_s=0.0,
                    cpu_steal_s=0.01,
                    cpu_idle_s=0.1,
                    context_switches=round(hardware.switches * operations * 2.1),
                    interrupts=operations,
                    reads=round(hardware.reads * operations * 0.01),
                    read_bytes=round(hardware.reads * operations * 41),
                    writes=round(hardware.writes * operations * 0.02),
                    write_bytes=round(hardware.writes * operations * 90),
                ),
                **{f"idle.{name}": Use(cpu_s=0.0004) for name in idle},
            },
            probe_seconds=SLICE_S + 0.001,
        ),
    )


def synthetic_manifest(
    contenders: Sequence[str],
    tests: Sequence[str],
    clients: Sequence[int] = (1,),
    incarnations: int = 2,
    seed: int = 1,
) -> Manifest:
    """A manifest of contenders that differ in version, and whose plans agree."""
    return Manifest(
        schema=SCHEMA,
        experiment="synthetic",
        slowdust="0.1.0",
        driver="0.1.0",
        started="2026-01-02T03:04:05Z",
        finished="2026-01-02T03:14:05Z",
        base=contenders[0],
        contenders=[_facts(name) for name in contenders],
        tests=list(tests),
        clients=list(clients),
        work_options={},
        method=Method(
            seed=seed,
            tables=1,
            rows=100_000,
            slice_s=SLICE_S,
            discard_s=0.5,
            warmup_s=0.5,
            budget_s=600.0,
            margin=0.03,
            incarnations=incarnations,
        ),
        host={"CPU": "synthetic, 2 cores", "memory": "8 GB", "kernel": "Linux 6.1"},
        plans=[
            Plan(test=test, contender=name, statement=f"SELECT {test}", plan="Index Scan")
            for test in tests
            for name in contenders
        ],
    )


def _facts(name: str) -> ContenderFacts:
    dbms, _, version = name.partition("@")
    return ContenderFacts(
        name=name,
        dbms=dbms,
        build=BuildFacts(
            source=f"npm {dbms}@{version}",
            version=f"{dbms} {version}",
            sha256=f"{zlib.crc32(name.encode()):08x}" * 8,
            binary_bytes=9_000_000,
            stripped_bytes=7_000_000,
        ),
        config="small",
        settings={"shared_buffers": "128MB", "fsync": "on"},
        data_bytes=80 << 20,
    )


def _histogram(mean_ns: float, operations: int) -> Histogram:
    """A right-skewed distribution in seven buckets."""
    shares = (0.1, 0.4, 0.3, 0.14, 0.05, 0.009, 0.001)
    multiples = (0.7, 0.85, 1.0, 1.2, 1.7, 3.0, 8.0)
    counts = [round(share * operations) for share in shares]
    counts[0] += operations - sum(counts)
    return Histogram(
        values_ns=[round(multiple * mean_ns) for multiple in multiples],
        counts=counts,
        max_ns=round(9 * mean_ns),
        mean_ns=mean_ns,
    )


def _of_step(
    given: Mapping[str, T | Mapping[str, T]], name: str, step: tuple[str, int], default: T
) -> T:
    value = given.get(name, default)
    if not isinstance(value, Mapping):
        return value
    test, clients = step
    return value.get(f"{test}@{clients}", value.get(test, default))


def _level(test: str) -> float:
    """QPS of a test at one client: arbitrary, but always the same for a name."""
    return 500.0 + zlib.crc32(test.encode()) % 20_000


def fails(record: Slice) -> None:
    """Make all operations of a slice fail."""
    record.measured.errors = {"22012": record.measured.operations or 0}
    record.measured.error_texts = {"22012": "division by zero"}
    record.qps, record.measured.operations = 0.0, 0
