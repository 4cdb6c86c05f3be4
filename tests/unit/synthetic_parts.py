"""Slices whose time per operation has known parts, which an analysis has to distinguish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowdust.analysis.explanation.parts import add_explanations
from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import Report, Result, Work
from slowdust.analysis.stored import analyse
from slowdust.analysis.story.reasons import add_reasons
from slowdust.ratios import Amount, Ratio
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import SLICE_S, synthetic_manifest, synthetic_slice

TEST = "point-query"
BASE, OTHER = "postgres@15.8", "postgres@17.6"


@dataclass(frozen=True)
class Spent:
    """Microseconds per operation and client, and what else an operation uses."""

    user: float = 50.0
    system: float = 10.0
    client: float = 15.0
    waiting: float = 25.0
    beside: float = 0.0
    """CPU time of threads that no client waits for."""
    switches: float = 2.0
    written_kb: float = 0.1
    stalled_share: float = 0.0
    """Share of the slices that do a twentieth of the work."""

    @property
    def total(self) -> float:
        """The time per operation of a client."""
        return self.user + self.system + self.client + self.waiting


def parts_experiment(
    spent: Mapping[str, Spent],
    *,
    test: str = TEST,
    clients: int = 1,
    incarnations: int = 3,
    blocks: int = 30,
    tick_noise: float = 0.02,
    restart: float = 0.0,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """Return an experiment whose contenders spend their time as `spent` says.

    The machine's speed differs from slice to slice by 3%. `tick_noise` is the standard deviation
    of the share of the server's CPU time that is accounted as user mode, `restart` the standard
    deviation of ln user CPU from one start of a server to the next.
    """
    rng = np.random.default_rng(seed)
    names = list(spent)
    slices = []
    for incarnation in range(1, incarnations + 1):
        started = {
            name: replace(own, user=own.user * float(np.exp(restart * rng.normal())))
            for name, own in spent.items()
        }
        for block in range(blocks):
            for slot, name in enumerate([*names, *reversed(names)]):
                record = synthetic_slice(
                    contender=name,
                    test=test,
                    clients=clients,
                    qps=_speed(started[name], rng) * clients,
                )
                _spend(record, started[name], tick_noise, rng)
                record.place.incarnation, record.place.block = incarnation, block
                record.place.slot = slot
                slices.append(record)
    return synthetic_manifest(names, [test], (clients,), incarnations), slices


def _speed(spent: Spent, rng: np.random.Generator) -> float:
    """Return operations per second of a client in one slice."""
    slowness = np.exp(0.03 * rng.normal()) * (20 if rng.random() < spent.stalled_share else 1)
    return 1e6 / float(spent.total * slowness)


def _spend(record: Slice, spent: Spent, tick_noise: float, rng: np.random.Generator) -> None:
    """Set what was used in a slice; a stall is all waiting."""
    operations = record.measured.operations or 1
    record.qps = operations / SLICE_S
    slowness = SLICE_S * record.place.clients * 1e6 / operations / spent.total
    seconds = operations / 1e6 * (slowness if slowness < 2 else 1.0)
    server = record.measured.uses["server"]
    share = spent.user / (spent.user + spent.system) + tick_noise * rng.normal()
    server["cpu_s"] = (spent.user + spent.system + spent.beside) * seconds
    server["cpu_user_s"] = server["cpu_s"] * min(1.0, max(0.0, share))
    server["cpu_system_s"] = server["cpu_s"] - server["cpu_user_s"]
    server["context_switches"] = round(spent.switches * operations)
    server["write_bytes"] = round(spent.written_kb * 1024 * operations)
    client = record.measured.uses["client"]
    client["cpu_user_s"], client["cpu_system_s"] = spent.client * seconds, 0.0
    record.measured.uses["others"] = {"cpu_s": 0.0, "cpus": 2}


def explained(
    manifest: Manifest,
    slices: list[Slice],
    *,
    instructions: tuple[float, float, float] | None = None,
    counted_clients: int | None = None,
    functions: Sequence[FunctionChanges] = (),
) -> tuple[Report, Result]:
    """Return the report, and the result of the contender.

    `instructions` is the ratio of counted instructions with its interval, `counted_clients` how
    many clients were counted, if not as many as were timed.
    """
    report = analyse(manifest, slices)
    result = next(each for each in report.results if each.contender != report.base)
    if instructions is not None:
        ratio, low, high = instructions
        verdict: Amount = "more" if low > 1.01 else "less" if high < 1 / 1.01 else "same"
        result.work = Work(
            source="valgrind",
            clients=counted_clients or result.clients,
            instructions=1e5 * ratio,
            ratio=Ratio(ratio, low, high, verdict),
            repeats=6,
            incarnations=3,
        )
        add_explanations(report.results, slices, report.contenders)
        add_reasons(report.results, report.base, functions)
    return report, result
