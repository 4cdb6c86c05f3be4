"""Simulated windows of waits: seeded records whose true times per operation are known.

windows = synthetic_waits(
    {"postgres@15.8": {"IO/WalSync": 100.0}, "postgres@17.6": {"IO/WalSync": 2000.0}}, seed=1
)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from slowdust.dbms.postgres import wait_kind
from slowdust.store.count import WindowPlace
from slowdust.store.waits import SessionTime, Syncs, Wait, WaitWindow
from slowdust.units import Microsecond, Second

LOOKS = 100
"""Samples of each session in a window."""
RUN_US: Microsecond = 50.0
"""Time of an operation when its session does not wait."""


def synthetic_waits(
    times: Mapping[str, Mapping[str, Microsecond]],
    *,
    test: str = "update-one",
    clients: int = 4,
    noise: float = 0.05,
    incarnations: int = 2,
    repeats: int = 6,
    seconds: Second = 0.5,
    sync_us: Mapping[str, Microsecond] | None = None,
    seed: int | np.random.Generator = 0,
) -> list[WaitWindow]:
    """Return the windows of one test; `times` is contender -> event -> true time per operation.

    Each window's times are multiplied by noise of that standard deviation, then seen in samples.
    `sync_us` is contender -> time of a call of fdatasync; each operation has one.
    """
    random = np.random.default_rng(seed)
    windows = []
    for incarnation in range(1, incarnations + 1):
        for repeat in range(repeats):
            for contender, events in times.items():
                place = WindowPlace(
                    benchmark="micro",
                    test=test,
                    clients=clients,
                    contender=contender,
                    incarnation=incarnation,
                    repeat=repeat,
                )
                moved = {event: us * random.lognormal(0.0, noise) for event, us in events.items()}
                window = _window(place, moved, seconds, random)
                if sync_us is not None:
                    us = sync_us[contender] * random.lognormal(0.0, noise) * window.operations
                    window.syncs = {"fdatasync": Syncs(calls=window.operations, us=float(us))}
                windows.append(window)
    return windows


def _window(
    place: WindowPlace,
    times: Mapping[str, Microsecond],
    seconds: Second,
    random: np.random.Generator,
) -> WaitWindow:
    """Return a window of operations with these times, as samples show them."""
    true = np.array([RUN_US, *times.values()])
    whole = 1e6 * seconds * place.clients
    operations = round(whole / true.sum())
    samples = LOOKS * place.clients
    _, *seen = random.multinomial(samples, true / true.sum()).tolist()
    return WaitWindow(
        place=place,
        operations=operations,
        seconds=seconds,
        sources=["pg_stat_activity"],
        samples=samples,
        waits=[
            Wait(event=event, kind=wait_kind(event), us=whole * looks / samples)
            for event, looks in zip(times, seen, strict=True)
            if looks
        ],
        sessions=SessionTime(
            run_us=RUN_US * operations,
            queue_us=0.0,
            samples=10,
            states={"running": 1, "epoll_wait": 9},
        ),
    )
