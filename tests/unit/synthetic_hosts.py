"""Simulated experiments of several hosts: each host's ratios are known.

parts = [part_of("alpha", {"new": 0.95}), part_of("beta", {"new": 0.93}, seed=2)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slowdust.merge.merge import Design, Merged, merge
from slowdust.merge.sources import Source
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import Noise, Shifts, synthetic_experiment
from tests.unit.synthetic_history import keep

OLD, NEW = "postgres@15.8", "postgres@17.6"
TESTS = ("point-query", "hot-points", "scan", "update-index")
CALM = Noise(slice=0.01, stolen_share=0.0, drift=0.05, restart=0.003)
_BEGAN = datetime(2026, 1, 2, 3, 0, tzinfo=UTC)
_APART_S = 10_000.0
"""Time from the start of one host's experiment to the start of the next."""


def part_of(
    host: str,
    shifts: Shifts | None = None,
    *,
    cpu: str = "synthetic",
    tests: Sequence[str] = TESTS,
    contenders: Sequence[str] = (OLD, NEW),
    noise: Noise = CALM,
    incarnations: int = 3,
    blocks: int = 8,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """An experiment of one host, whose facts are its name, its CPU and its memory."""
    manifest, slices = synthetic_experiment(
        contenders,
        tests,
        shifts=shifts,
        noise=noise,
        incarnations=incarnations,
        blocks=blocks,
        seed=seed,
    )
    manifest.experiment = f"on-{host}"
    manifest.host = {"host": host, "CPU": cpu, "Memory": "7.9 GiB"}
    began = _BEGAN + timedelta(seconds=_APART_S * seed)
    manifest.started = began.isoformat(timespec="seconds")
    manifest.finished = (began + timedelta(seconds=600)).isoformat(timespec="seconds")
    manifest.spent_s = 500.0
    for record in slices:
        record.measured.started = (record.measured.started or 0.0) + _APART_S * seed
    return manifest, slices


def keep_parts(results: Path, *parts: tuple[Manifest, list[Slice]]) -> list[Source]:
    """Write experiments; return them as parts."""
    for manifest, slices in parts:
        keep(results, manifest, slices)
    return [Source(Folder(results / manifest.experiment)) for manifest, _ in parts]


def joined_of(
    results: Path,
    hosts: Mapping[str, Shifts],
    *,
    cpus: Mapping[str, str] | None = None,
    tests: Mapping[str, Sequence[str]] | None = None,
    noise: Noise = CALM,
    design: Design | None = None,
) -> Merged:
    """Merge an experiment of each host, by its shifts; all have one CPU model by default."""
    parts = [
        part_of(
            host,
            shifts,
            cpu=(cpus or {}).get(host, "synthetic"),
            tests=(tests or {}).get(host, TESTS),
            noise=noise,
            seed=seed,
        )
        for seed, (host, shifts) in enumerate(hosts.items(), start=1)
    ]
    return merge(keep_parts(results, *parts), Folder(results / "joined"), design)
