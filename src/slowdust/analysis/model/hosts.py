"""Hosts of a joined experiment, and results on each of them."""

from __future__ import annotations

import msgspec

from slowdust.analysis.model.verdict import Verdict
from slowdust.units import Second


class HostResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on one host, by the ratio that the verdict is about."""

    host: str
    qps: float
    """Total over total time of the host's own slices."""
    rqps: float | None = None
    """1 for the base; absent if no block of the host could be paired."""
    low: float | None = None
    high: float | None = None
    """95% interval of what the host itself would show with more starts of its servers."""
    blocks: int | None = None
    """Blocks that were compared; absent for the base."""
    incarnations: int


class GroupResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on the hosts of one model of CPU, judged without all others."""

    group: str
    hosts: list[str]
    rqps: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: Verdict


class JoinedExperiment(msgspec.Struct, kw_only=True):
    """An experiment that was joined with others."""

    experiment: str
    path: str
    """The path of its folder, or bundle, when it was joined."""


class HostInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host as the report lists it."""

    name: str
    group: str
    """The model of its CPU."""
    facts: dict[str, str]
    """Label -> value, of those that are not the same on all hosts."""
    cpus: int | None = None
    """CPUs that clients and servers could use."""
    experiments: list[JoinedExperiment]
    incarnations: int
    """Starts of the servers that were timed."""
    slices: int
    tests: int
    started: str | None = None
    finished: str | None = None
    """The latest end of its parts; absent while one is not finished."""
    spent_s: Second
    """Seconds of its budgets that were spent."""


class HostDisagreement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host whose ratio is not that of the others."""

    host: str
    others: list[str]
    """The hosts that it is compared with; of two hosts either may be the odd one."""
    contender: str
    test: str | None = None
    """The test; absent of a host that moved all tests of the contender."""
    clients: int | None = None
    tests: int
    ratio: float
    """rqps on the host / on the others; of all tests the mean."""
    chance: float
    """Probability, at most, that chance alone puts any host so far from the others."""
