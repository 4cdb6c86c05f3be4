"""Simulated calibrations: a contender compared with itself, and with itself slowed by known waits.

The waits are the sums that the delay library would report: their share of the time is exact, and
the throughput follows it, with the noise of `synthetic`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.store.manifest import Manifest
from slowdust.store.measured import DELAY, Use
from slowdust.store.slice import Slice
from tests.unit.synthetic import SLICE_S, Noise, synthetic_experiment

BASE, AGAIN, SLOWED = "postgres@17.6", "postgres@17.6#2", "postgres@17.6 slowed=10%"
SENDS = 1000
CPUS = 2


def synthetic_calibration(
    tests: Sequence[str] = ("point-query", "update-index"),
    *,
    waits: float = 0.10,
    slows: float | None = None,
    shifts: Mapping[str, float] | None = None,
    clients: Sequence[int] = (1,),
    incarnations: int = 3,
    blocks: int = 20,
    taken: float = 0.0,
    asleep: float = 0.0,
    elsewhere: float = 0.0,
    noise: float = 0.01,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """A calibration on two CPUs.

    The slowed contender waits for a share `waits` of its time, and loses a share `slows` of its
    throughput, by default the same share. Other programs take a share `taken` of the clients' time;
    clients and servers wait for a disk for a share `asleep` of it. On CPUs without clients, other
    programs run for `elsewhere` of a CPU's time; the rest is idle. `noise` is the noise of one
    slice.
    """
    manifest, slices = synthetic_experiment(
        [BASE, AGAIN, SLOWED],
        tests,
        shifts={SLOWED: 1 - (waits if slows is None else slows), **(shifts or {})},
        noise=Noise(slice=noise, restart=0.002, stolen_share=0.0, drift=0.05),
        clients=clients,
        incarnations=incarnations,
        blocks=blocks,
        seed=seed,
    )
    for facts in manifest.contenders:
        facts.slowed = 0.10 if facts.name == SLOWED else 0.0
    manifest.cpus = list(range(CPUS))
    for record in slices:
        own = waits if record.place.contender == SLOWED else 0.0
        _add_waits(record, own)
        _add_cpu(record, taken=taken, asleep=asleep, elsewhere=elsewhere)
    return manifest, slices


def _add_waits(record: Slice, share: float) -> None:
    time = SLICE_S * record.place.clients
    record.measured.uses[DELAY] = Use(
        delay_us=share * time / SENDS * 1e6, sends=SENDS, waited_s=share * time
    )


def _add_cpu(record: Slice, *, taken: float, asleep: float, elsewhere: float) -> None:
    """Replace the CPU time of the server and of the host, both in seconds over all CPUs."""
    seconds = record.measured.seconds or 0.0
    used_cpus = min(record.place.clients, CPUS)
    uses = record.measured.uses
    ours = (1 - taken - asleep) * seconds * used_cpus
    client = uses["client"]["cpu_user_s"] + uses["client"]["cpu_system_s"]
    uses["server"]["cpu_s"] = ours - client
    others = (taken * used_cpus + elsewhere * (CPUS - used_cpus)) * seconds
    uses["host"] |= Use(
        cpu_user_s=ours + others,
        cpu_system_s=0.0,
        cpu_steal_s=0.0,
        cpu_idle_s=CPUS * seconds - ours - others,
    )
