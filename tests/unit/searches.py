"""Slices and recalls of searches with known QPS and recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slowdust.store.manifest import Manifest
from slowdust.store.measured import Measured
from slowdust.store.preparation import IndexSize, Recall
from slowdust.store.slice import Place, Slice
from tests.unit.synthetic import synthetic_manifest

BASE, OTHER = "postgres@16.2", "postgres@18.4"
EFFORTS = (10, 20, 40, 80)
RECALLS = (0.85, 0.93, 0.97, 0.995)
RATES = (4000.0, 2500.0, 1500.0, 900.0)
BLOCKS = 4
SECONDS = 0.05


def measured(
    times: Mapping[str, float],
    recalls: Mapping[str, Sequence[float]] | None = None,
    *,
    incarnations: int = 4,
    noise: float = 0.0,
    drift: float = 0.0,
    spread: float = 0.0,
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """An experiment whose contenders are `times` as fast as `RATES` at each effort.

    `noise` is the deviation from start to start, `drift` the machine's change of speed from one
    test to the next, both in ln QPS. `spread` is the deviation of an index' misses at all efforts
    from start to start, in ln (1 - recall).
    """
    rng = np.random.default_rng(seed)
    contenders = list(times)
    tests = [f"hnsw.ef{effort}" for effort in EFFORTS]
    manifest = synthetic_manifest(contenders, tests, (1,), incarnations, BLOCKS)
    slices = []
    for incarnation in range(1, incarnations + 1):
        moves = {name: rng.normal(0, noise) if noise else 0.0 for name in contenders}
        missed = {name: np.exp(rng.normal(0, spread)) if spread else 1.0 for name in contenders}
        for place, test in enumerate(tests):
            speed = np.exp(rng.normal(0, drift) if drift else 0.0)
            for name in contenders:
                found = (recalls or {}).get(name, RECALLS)
                manifest.recalls.append(
                    Recall(
                        test=test,
                        contender=name,
                        incarnation=incarnation,
                        queries=100,
                        k=10,
                        recall=max(0.0, 1 - float((1 - found[place]) * missed[name])),
                    )
                )
            for block in range(BLOCKS):
                for slot, name in enumerate([*contenders, *reversed(contenders)]):
                    qps = float(RATES[place] * times[name] * speed * np.exp(moves[name]))
                    slices.append(
                        Slice(
                            place=Place(
                                benchmark="vector",
                                test=test,
                                clients=1,
                                contender=name,
                                incarnation=incarnation,
                                block=block,
                                slot=slot,
                            ),
                            qps=qps,
                            measured=Measured(seconds=SECONDS, operations=round(qps * SECONDS)),
                        )
                    )
    manifest.index_sizes = [
        IndexSize(index="hnsw", contender=name, incarnation=1, bytes=1000 * (1 + place))
        for place, name in enumerate(contenders)
    ]
    return manifest, slices
