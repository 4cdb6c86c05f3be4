"""Waits in words: what most of an operation's time is, and what a change of it consists of.

A difference is told only where its interval excludes 0. Kinds of waits, not events, are added up
for a share, and the event behind most of a kind is named with it. Where the server tells of less
than half, the system call in which its threads sleep most is named as well.
"""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.analysis.model.waits import ContenderWaits, Difference, SessionStates, SyncCost
from slowdust.store.waits import WaitKind
from slowdust.units import Microsecond
from slowdust.wording import listing, share

LEAST_SHARE = 0.1
"""Share of the time of an operation, or of its change, from which a kind of waits is named."""
_MOST_OF_A_KIND = 0.5
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
    named = [
        f"{share(us / waits.time_us)} for {_KINDS[kind]}{_main_event(waits, kind)}"
        for kind, us in waits.kinds.items()
        if us >= LEAST_SHARE * waits.time_us
    ]
    parts = [f"it waits {listing(named)}"] if named else []
    if (sessions := waits.sessions) is not None:
        if sum(waits.kinds.values()) < _MOST_OF_TIME * waits.time_us:
            parts += _asleep(waits, sessions)
        parts += _of_sessions(waits, sessions.run_us, sessions.queue_us)
    if not parts:
        return ""
    return f"Of the {_time(waits.time_us)} of an operation {listing(parts)}.{_blockers(waits)}"


def describe_change(waits: ContenderWaits) -> str:
    """Return what changed, to follow a comma; empty where no difference is certain."""
    clauses = []
    whole = waits.time_beside
    if whole is not None and whole.is_certain:
        named = [
            (beside.change / whole.change, kind)
            for kind, beside in waits.kinds_beside.items()
            if beside.is_certain and beside.change / whole.change >= LEAST_SHARE
        ]
        parts = [
            f"{min(part, 1.0):.0%} is waiting for {_KINDS[kind]}{_main_change(waits, kind)}"
            for part, kind in sorted(named, reverse=True)
        ]
        if sum(part for part, _ in named) < _MOST_OF_TIME and waits.sessions is not None:
            parts += _change_asleep(waits.sessions, whole)
        if parts:
            more = "more" if whole.change > 0 else "less"
            time = _time(abs(whole.change))
            clauses.append(f"of {time} {more} in the windows for waits {listing(parts)}")
    if waits.syncs is not None and (changed := _sync_change(waits.syncs)):
        clauses.append(changed)
    return ", ".join(clauses)


def _main_event(waits: ContenderWaits, kind: WaitKind) -> str:
    """Return ' (Lock/transactionid)' where one event is most of its kind."""
    times = {cost.event: cost.us for cost in waits.waits if cost.kind == kind}
    return _most(times, waits.kinds[kind])


def _main_change(waits: ContenderWaits, kind: WaitKind) -> str:
    changes = {
        cost.event: cost.beside.change
        for cost in waits.waits
        if cost.kind == kind and cost.beside is not None
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
    return [f"{min(part, 1.0):.0%} is sleep in {call}"] if part >= LEAST_SHARE else []


def _of_sessions(
    waits: ContenderWaits, run: Microsecond | None, queue: Microsecond | None
) -> list[str]:
    parts = []
    if run is not None and run >= LEAST_SHARE * waits.time_us:
        parts.append(f"its server runs {share(run / waits.time_us)}")
    if queue is not None and queue >= LEAST_SHARE * waits.time_us:
        parts.append(f"is in the queue for a CPU {share(queue / waits.time_us)}")
    return parts


def _blockers(waits: ContenderWaits) -> str:
    """Return a sentence about what holds up those that wait for a lock; empty without any."""
    if not waits.blockers or waits.kinds.get("lock", 0.0) < LEAST_SHARE * waits.time_us:
        return ""
    event, part = next(iter(waits.blockers.items()))
    doing = "was running" if event == "running" else f"waited for {event}"
    return f" In {part:.0%} of the samples the session that held the lock {doing}."


def _sync_change(syncs: SyncCost) -> str:
    """Return 'one fdatasync takes 2.1 ms, 0.11 ms on the base'; empty where it is the same."""
    beside = syncs.us_beside
    if syncs.us is None or beside is None or not _has_changed(beside):
        return ""
    if syncs.per_operation < FEWEST_SYNCS:
        return ""
    name = syncs.calls[0] if len(syncs.calls) == 1 else "fsync"
    return (
        f"one {name} takes {_time(beside.base + beside.change)}, {_time(beside.base)} on the base"
    )


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
