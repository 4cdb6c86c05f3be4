"""Experiments on servers whose share of the disk is known, seeded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from slowdust.store.manifest import Manifest
from slowdust.store.preparation import ServerCounters
from slowdust.store.slice import Slice
from tests.unit.synthetic import synthetic_experiment

PEAK, UPDATE = "page-read-peak", "update-beyond-pool"
PAGE, ROW = 8192, 1926


@dataclass(frozen=True)
class Moments:
    """Standard deviations of ln of the servers' shares of the disk.

    Measured with one build compared with itself on a shared virtual disk.
    """

    incarnation: float = 0.12
    """Variation from start to start, the same for all contenders."""
    start: float = 0.01
    """Variation from start to start of one contender."""
    slice: float = 0.15
    """Noise of a slice besides its reads of the disk, Student's t with 3 degrees of freedom."""


def experiment_on_disk(
    shares: Mapping[str, float],
    tests: tuple[str, ...] = (PEAK, UPDATE),
    *,
    moments: Moments,
    incarnations: int = 4,
    blocks: int = 8,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """Servers that read pages of 8 KB from a disk whose speed drifts by a factor of two."""
    manifest, slices = synthetic_experiment(
        [*shares], tests, blocks=blocks, incarnations=incarnations, seed=seed
    )
    rng = np.random.default_rng(seed)
    of_incarnation = rng.normal(0, moments.incarnation, incarnations)
    of_start = {name: rng.normal(0, moments.start, incarnations) for name in shares}
    for number, record in enumerate(slices):
        record.place.benchmark = "io"
        name, measured = record.place.contender, record.measured
        incarnation = record.place.incarnation - 1
        seconds = measured.seconds or 1.0
        pages = 0.9 * (measured.operations or 0)
        measured.uses["server"] |= {"read_bytes": pages * PAGE, "called_bytes": pages * PAGE}
        measured.uses["storage"] = {"pages_read": pages, "rows_read": pages * PAGE / ROW}
        if record.place.test == PEAK:
            noise = moments.slice * rng.standard_t(3) / np.sqrt(3)
            moved = of_incarnation[incarnation] + of_start[name][incarnation] + noise
            speed = pages / seconds / shares[name] * float(np.exp(-moved))
            length = seconds * (1 + number % 2)
            measured.uses["disk"] = {"reads": speed * length, "seconds": length}
    return manifest, slices


def counted_writes(written: Mapping[str, float], noise: float = 0.005) -> list[ServerCounters]:
    """Return what servers wrote in four incarnations: bytes for an update, known to `noise`."""
    rng = np.random.default_rng(7)
    return [
        ServerCounters(
            step=f"{UPDATE}@1",
            contender=name,
            incarnation=incarnation,
            operations=1000 * incarnation,
            amounts={
                "written_bytes": of_update * 1000 * incarnation * rng.normal(1, noise),
                "log_bytes": 8192.0 * 1000 * incarnation,
            },
        )
        for incarnation in range(1, 5)
        for name, of_update in written.items()
    ]
