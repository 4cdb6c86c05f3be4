"""Contenders without servers, and the driver's answers about them."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.dbms.environment import Environment
from slowdust.dbms.server_url import parse_url
from slowdust.dbms.settings import Settings
from slowdust.experiment.contender import ResolvedContender, RunningContender
from slowdust.experiment.driver.protocol import Ran
from slowdust.store.latency import Histogram
from slowdust.units import Second

NO_ANSWERS = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)


def resolved(name: str) -> ResolvedContender:
    """Return a contender DBMS@VERSION, of a server by URL, which needs no build."""
    return ResolvedContender(
        name=name,
        build=None,
        engine=None,
        environment=Environment(),
        settings=Settings(config="default", required={}, optional={}, create={}),
        url=parse_url(f"{name.partition('@')[0]}://ann@127.0.0.1/bench"),
    )


def contender(name: str) -> RunningContender:
    """Return such a contender in an experiment, without a server."""
    return RunningContender(resolved(name))


def ran(operations: int, seconds: Second, positions: Sequence[int] = ()) -> Ran:
    """Return the event of a run without failed operations."""
    return Ran(
        id=1,
        session="s",
        started=0.0,
        seconds=seconds,
        operations=operations,
        statements=operations,
        rows=operations,
        qps=operations / seconds,
        unit="operations/s",
        latency=NO_ANSWERS,
        per_second=[],
        errors={},
        retries=0,
        positions=[*positions],
    )
