"""Waits in words: what most of an operation's time is, and what a change of it consists of.

A difference is told only where its interval excludes 0. Kinds of waits, not events, are added up
for a share, and the event behind most of a kind is named with it. Where the server tells of less
than half, the system call in which its threads sleep most is named as well. The time in the queue
for a CPU is told apart: a wait that the server reports lasts until the session runs again.
"""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.analysis.model.waits import ContenderWaits, Difference, SessionStates, SyncCost
from slowdust.store.waits import NOT_SEEN, WaitKind
from slowdust.units import Microsecond
from slowdust.wording import listing, share

LEAST_SHARE = 0.1
"""Share of the time of an operation, or of its change, from which a kind of waits is named."""
_MOST_OF_A_KIND = 0.5
_WHOLE = 1.05
"""Sum of shares that are parts of one whole, at most, with the error of the sampling."""
_MOST_OF_TIME = 0.5
"""Share of an operation's time; where the server tells of less, the kernel's view is named."""
_FOR_CLIENT = frozenset(
    ("epoll_wait", "epoll_pwait", "poll", "ppoll", "read", "recvfrom", "recvmsg", "select")
)
"""System calls in which a session may wait for its client."""
FEWEST_SYNCS = 0.01
"""Calls of fsync per operation from which their time is told: rarer ones are the background's."""
_LEAST_CHANGE_OF_SYNC = 1.1
"""Ratio from which a change of the time of one fsync is told."""
_CONTAINED = "A wait that the server reports includes the time until the session has a CPU again."
_KINDS: Mapping[WaitKind, str] = {
    "lock": "locks",
    "latch": "latches",
    "io": "files",
    "sync": "the disk",
    "commit": "commits",
    "client": "the client",
    "other": "other events",
}


def describe(waits: ContenderWaits) -> str:
    """Return 'Of the 850 µs of an operation it waits 76% for locks (Lock/transactionid).'."""
    shares = {kind: us / waits.time_us for kind, us in waits.kinds.items()}
    parts = [
        f"{share(part)} for {_words(waits, kind)}{_main_event(waits, kind)}"
        for kind, part in _not_contained(shares)
    ]
    if parts:
        parts = [f"it waits {listing(parts)}"]
    if waits.sessions is not None and sum(shares.values()) < _MOST_OF_TIME:
        parts += _asleep(waits, waits.sessions)
    time = f"the {_time(waits.time_us)} of an operation"
    sentences = [f"Of {time} {listing(parts)}."] if parts else []
    sentences += [*_blockers(waits), *_of_sessions(waits, "that time" if parts else time)]
    return " ".join(sentences)


def describe_change(waits: ContenderWaits) -> str:
    """Return what changed, to follow a comma; empty where no difference is certain."""
    clauses = []
    whole = waits.time_beside
    if whole is not None and whole.is_certain:
        shares = {
            kind: beside.change / whole.change
            for kind, beside in waits.kinds_beside.items()
            if beside.is_certain
        }
        named = _not_contained(shares)
        parts = [
            f"{_share_of_change(part)} is waiting for {_words(waits, kind)}"
            f"{_main_change(waits, kind)}"
            for kind, part in named
        ]
        if sum(part for _, part in named) < _MOST_OF_TIME and waits.sessions is not None:
            parts += _change_asleep(waits.sessions, whole)
        in_queue = _change_in_queue(waits.sessions, whole) if waits.sessions is not None else []
        parts += in_queue
        if parts:
            more = "more" if whole.change > 0 else "less"
            time = _time(abs(whole.change))
            clauses.append(f"of {time} {more} in the windows for waits {listing(parts)}")
            if named and in_queue:
                clauses.append("which a wait that the server reports may include")
    if waits.syncs is not None and (changed := _sync_change(waits.syncs)):
        clauses.append(changed)
    return ", ".join(clauses)


def _not_contained(shares: Mapping[WaitKind, float]) -> list[tuple[WaitKind, float]]:
    """Return the kinds that are named, the largest share first.

    One with which the shares would be more than the whole is contained in another one: the
    writes of a binlog in a commit.
    """
    named: list[tuple[WaitKind, float]] = []
    for kind, part in sorted(shares.items(), key=lambda item: -item[1]):
        if part >= LEAST_SHARE and (not named or part + sum(p for _, p in named) <= _WHOLE):
            named.append((kind, part))
    return named


def _words(waits: ContenderWaits, kind: WaitKind) -> str:
    """Return the words for a kind: the Performance Schema has an fsync among a file's waits."""
    if kind == "io" and "performance_schema" in waits.sources:
        return "files, fsync included"
    return _KINDS[kind]


def _main_event(waits: ContenderWaits, kind: WaitKind) -> str:
    """Return ' (Lock/transactionid)' where one event is most of its kind."""
    times = {cost.event: cost.us for cost in waits.waits if cost.kind == kind}
    return _most(times, waits.kinds[kind])


def _main_change(waits: ContenderWaits, kind: WaitKind) -> str:
    changes = {
        cost.event: cost.beside.change
        for cost in waits.waits
        if cost.kind == kind and cost.beside is not None and cost.beside.is_certain
    }
    return _most(changes, waits.kinds_beside[kind].change)


def _most(parts: Mapping[str, float], whole: float) -> str:
    named = [event for event, part in parts.items() if whole and part / whole >= _MOST_OF_A_KIND]
    return f" ({named[0]})" if named else ""


def _asleep(waits: ContenderWaits, sessions: SessionStates) -> list[str]:
    """Return 'it sleeps 80% in futex', of a call that does not wait for the client."""
    calls = ((call, us) for call, us in sessions.asleep_us.items() if call not in _FOR_CLIENT)
    call, us = next(calls, ("", 0.0))
    if us < LEAST_SHARE * waits.time_us:
        return []
    return [f"it sleeps {share(us / waits.time_us)} in {call}"]


def _change_asleep(sessions: SessionStates, whole: Difference) -> list[str]:
    """Return '90% is sleep in pread64', of the call with most of a change of the time."""
    parts = [
        (beside.change / whole.change, call)
        for call, beside in sessions.asleep_beside.items()
        if beside.is_certain and call not in _FOR_CLIENT
    ]
    part, call = max(parts, default=(0.0, ""))
    return [f"{_share_of_change(part)} is sleep in {call}"] if part >= LEAST_SHARE else []


def _change_in_queue(sessions: SessionStates, whole: Difference) -> list[str]:
    """Return '40% is waiting for a CPU that others use'; nothing if that is little or unsure."""
    beside = sessions.queue_beside
    if beside is None or not beside.is_certain or beside.change / whole.change < LEAST_SHARE:
        return []
    part = _share_of_change(beside.change / whole.change)
    return [f"{part} is waiting for a CPU that others use"]


def _of_sessions(waits: ContenderWaits, time: str) -> list[str]:
    """Return a sentence about what sessions do while they do not sleep; nothing if that is little.

    `time` are the words for the time of an operation.
    """
    if (sessions := waits.sessions) is None:
        return []
    queue = "are in the queue for a CPU"
    shares = {
        words: us / waits.time_us
        for words, us in (("run", sessions.run_us), (queue, sessions.queue_us))
        if us is not None and us >= LEAST_SHARE * waits.time_us
    }
    if not shares:
        return []
    parts = [f"{words} {share(part)}" for words, part in shares.items()]
    sentences = [f"By the kernel its sessions {listing(parts)} of {time}."]
    if queue in shares and max(waits.kinds.values(), default=0.0) >= LEAST_SHARE * waits.time_us:
        sentences.append(_CONTAINED)
    return sentences


def _share_of_change(part: float) -> str:
    """Return '94%'; 'all of it' where the waits grew as much or more, by errors of sampling."""
    return f"{part:.0%}" if part < 1 else "all of it"


def _blockers(waits: ContenderWaits) -> list[str]:
    """Return a sentence about what holds up those that wait for a lock; nothing without any."""
    if not waits.blockers or waits.kinds.get("lock", 0.0) < LEAST_SHARE * waits.time_us:
        return []
    event, part = next(iter(waits.blockers.items()))
    doing = {
        "running": "was running",
        NOT_SEEN: "was not among those that are sampled",
    }.get(event, f"waited for {event}")
    return [
        f"For {part:.0%} of the sessions seen waiting for a lock, the one at the head of their "
        f"queue {doing}."
    ]


def _sync_change(syncs: SyncCost) -> str:
    """Return 'one fdatasync takes 2.1 ms, 0.11 ms on the base'; empty where it is the same."""
    beside = syncs.us_beside
    if syncs.us is None or beside is None or not _has_changed(beside):
        return ""
    if syncs.per_operation < FEWEST_SYNCS:
        return ""
    name = syncs.calls[0] if len(syncs.calls) == 1 else "fsync"
    return f"one {name} takes {_time(syncs.us)}, {_time(beside.base)} on the base"


def _has_changed(beside: Difference) -> bool:
    if not beside.is_certain or beside.base <= 0:
        return False
    ratio = (beside.base + beside.change) / beside.base
    return not 1 / _LEAST_CHANGE_OF_SYNC < ratio < _LEAST_CHANGE_OF_SYNC


def _time(us: Microsecond) -> str:
    """Return a time with two or three digits: '850 µs', '2.1 ms'."""
    if us >= 1000:
        return f"{us / 1000:,.1f} ms"
    return f"{us:,.0f} µs" if us >= 10 else f"{us:.1f} µs"
