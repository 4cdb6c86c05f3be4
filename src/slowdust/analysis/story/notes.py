"""Notes about a report: what differs beyond versions, builds or settings of one DBMS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slowdust.analysis.model import ContenderInfo, HostDisagreement, Report
from slowdust.dbms import family_if_known
from slowdust.ratios import distance
from slowdust.units import known
from slowdust.wording import counted, listing, share, shortened

_ISOLATION = "transaction_isolation"
_DEFAULT = "REPEATABLE-READ"
"""The default level of every DBMS that has engines."""


def notes_about_report(report: Report) -> list[str]:
    """Return the notes for the head of a report; usually none."""
    if report.imported is not None:
        return notes_about_single_runs(report.contender_info)
    return [
        *notes_about_contenders(report.contender_info),
        *_running(report),
        *_embedded(report),
        *_distinct(known(info.untold for info in report.contender_info)),
        *_notes_about_steps(report),
    ]


def notes_about_contenders(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return sentences about what else differs; `infos` has the base first."""
    return [*_systems(infos), *_engines(infos), *_caches(infos), *_allocators(infos)]


def notes_about_single_runs(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return the same about imported runs, of which only the tests are known to be alike."""
    systems = _distinct(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    return [
        f"Different DBMS are compared: {listing(systems)}. The same for all: the tests, by name. "
        f"Whether rows, settings and machine were alike, only who ran them can say."
    ]


def _running(report: Report) -> list[str]:
    infos = report.contender_info
    names = [info.name for info in infos if info.running]
    if not names:
        return []
    ran = "ran" if len(names) > 1 else "was a server that ran"
    loads = max((result.incarnations or 1 for result in report.results), default=1)
    tables = "" if loads == 1 else f", whose tables were made {loads} times"
    allows = (
        "The intervals allow for what a restart usually changes, and not for what it changed here. "
    )
    notes = [
        f"{shortened(names)} {ran} already, and {'were' if len(names) > 1 else 'was'} not "
        f"restarted: one incarnation{tables}. {'' if _lacks_intervals(report) else allows}"
        "Settings and caches are those that were found; the server's CPU time, memory and disk are "
        "unknown, and the facts about the host are those of the client."
    ]
    if len(infos) > 1 and any(run.chunks for run in report.step_runs):
        notes.append(
            f"{shortened(names)} cannot be made to stand still while another contender has its "
            "turn in a step: background work (checkpoints, vacuum, purge) goes on then, in time "
            "that nobody counts."
        )
    if all(info.round_trip_us is not None for info in infos):
        times = [f"{info.round_trip_us:,.0f} us to {info.name}" for info in infos]
        families = known(family_if_known(info.dbms) for info in infos)
        asked = listing(_distinct(each.round_trip for each in families), "or")
        notes.append(
            f"A round trip ({asked}, one client, median) takes {listing(times)}. Rates and "
            "response times contain one for each statement; what differs by it is the way to the "
            "server, not its work."
        )
    return notes


def _embedded(report: Report) -> list[str]:
    together = _distinct(
        result.contender
        for result in report.results
        if "server_cpu_us" in result.per_op and "client_cpu_us" not in result.per_op
    )
    if not together:
        return []
    runs = "runs" if len(together) == 1 else "run"
    return [
        f"{shortened(together)} {runs} in the threads of the client, without a server. The CPU "
        "time is that of both together: no CPU time is the client's own, nothing is sent, and "
        "what a change consists of is told by counted work alone."
    ]


def _lacks_intervals(report: Report) -> bool:
    return bool(report.step_runs) and all(
        result.typical is None or result.typical.low is None for result in report.results
    )


def _notes_about_steps(report: Report) -> list[str]:
    most = max((run.incarnation for run in report.step_runs), default=0)
    if most != 1 or len(report.contenders) < 2:
        return []
    if not _lacks_intervals(report):
        if any(info.running for info in report.contender_info):
            return []  # the note on running servers says it
        return [
            "One incarnation: the intervals allow for what a restart of the servers and new tables "
            "usually change, and not for what they changed here; more incarnations show it."
        ]
    return [
        "One incarnation: each step was measured once on each contender, so that nothing says how "
        "far a second measurement would be from it. There are relative rates, but neither "
        "intervals nor verdicts; more incarnations give them."
    ]


def _systems(infos: Sequence[ContenderInfo]) -> list[str]:
    systems = _distinct(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    configs = _distinct(info.config for info in infos)
    named = (
        f"the config '{configs[0]}' is each DBMS's own, alike in purpose only"
        if len(configs) == 1
        else f"the configs ({listing(configs)}) are each DBMS's own"
    )
    alike = ["rows", "operations and their order", "clients", "machine", "time"]
    if any(info.running for info in infos):
        alike.remove("machine")
    return [
        f"Different DBMS are compared: {listing(systems)}. The same for all: {listing(alike)}. "
        f"Not the same: statements are spelt as each DBMS wants them, {named}, isolation levels "
        f"are each DBMS's default where nobody set them, maintenance is each DBMS's own, and plans "
        f"are compared only among contenders of one DBMS."
    ]


def _engines(infos: Sequence[ContenderInfo]) -> list[str]:
    engines = _distinct(info.engine for info in infos if info.engine is not None)
    if len(engines) < 2:
        return []
    return [
        f"Different storage engines are compared: {listing(engines)}. Statements and rows are the "
        "same; what an engine keeps in memory and on disk, and which settings apply to it, is not.",
        *_isolation(infos),
    ]


def _isolation(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if isolation levels differ: an engine may lack what the default needs.

    A contender that dropped out before it had settings has no level.
    """
    levels: dict[str, list[str]] = {}
    for info in infos:
        if info.engine is not None and info.settings:
            levels.setdefault(info.settings.get(_ISOLATION, _DEFAULT), []).append(info.name)
    if len(levels) < 2:
        return []
    differing = listing([f"{level} ({shortened(names)})" for level, names in levels.items()])
    return [
        f"Isolation levels differ: {differing}. Transactions get other guarantees, and their locks "
        f"and snapshots are other work; the setting {_ISOLATION}, the same for all, makes them "
        f"alike."
    ]


def _caches(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if caches differ: a version may round the size it was given, another not."""
    sizes: dict[int, list[str]] = {}
    for info in infos:
        if info.buffer_pool_bytes is not None:
            sizes.setdefault(info.buffer_pool_bytes >> 20, []).append(info.name)
    if len(sizes) < 2:
        return []
    differing = listing([f"{size} MB ({shortened(names)})" for size, names in sizes.items()])
    return [f"The servers' own page caches differ: {differing}."]


def _allocators(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if allocators differ although no contender asks for one."""
    base = infos[0]
    if base.allocator is None:
        return []
    unasked = [
        info
        for info in infos[1:]
        if info.allocator not in {None, base.allocator}
        and _wanted_allocator(info) == _wanted_allocator(base)
    ]
    if not unasked:
        return []
    others = listing([f"{info.name} with {info.allocator}" for info in unasked])
    return [
        f"Allocators differ although none was asked for: {base.name} works with {base.allocator}, "
        f"{others}. So the comparison is also of allocators; an environment such as "
        f"+{base.allocator} behind a contender makes them alike."
    ]


def _wanted_allocator(info: ContenderInfo) -> str | None:
    """Return the allocator in its environment, whose other parts are `NAME=VALUE`."""
    return next((part for part in info.environment if "=" not in part), None)


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def sentences_about_hosts(report: Report) -> list[str]:
    """Return for which hosts verdicts hold, and which host disagrees; empty unless joined."""
    if not report.hosts:
        return []
    return [*_holding(report), *map(_disagreement, report.host_disagreements)]


def _holding(report: Report) -> Iterator[str]:
    names = [host.name for host in report.hosts]
    if len(names) == 1:
        yield f"All was measured on one host, {names[0]}: how hosts differ is in no interval."
        return
    groups = list(dict.fromkeys(host.group for host in report.hosts))
    several, alone = _tests(report)
    if several and alone:
        where = [f"{test} on {host}" for test, host in alone.items()]
        yield (
            f"On several hosts: {shortened(several)}, whose intervals have what hosts do "
            f"differently. On one host only, which their intervals are about: {shortened(where)}."
        )
    elif several:
        yield (
            f"Intervals are about hosts like {shortened(names)}: what hosts do differently is in "
            "them, as what a restart does is."
        )
    else:
        where = [f"{test} on {host}" for test, host in alone.items()]
        yield (
            "Each test was measured on one host only, which its interval is about; nothing says "
            f"how hosts differ: {shortened(where)}."
        )
    if len(groups) > 1:
        by_group = [
            f"{group} ({listing([host.name for host in report.hosts if host.group == group])})"
            for group in groups
        ]
        yield (
            f"Hosts are of {len(groups)} models of CPU: {listing(by_group)}. A verdict of all is "
            "one that the hosts of each model have by themselves; else it is unsure, and the "
            "section by host has each model's own."
        )


def _tests(report: Report) -> tuple[list[str], dict[str, str]]:
    """Return the tests that several hosts measured, and test -> the only host of the others."""
    hosts: dict[str, list[str]] = {}
    for result in report.results:
        own = hosts.setdefault(result.test, [])
        own += [each.host for each in result.hosts if each.host not in own]
    several = [test for test, names in hosts.items() if len(names) > 1]
    return several, {test: names[0] for test, names in hosts.items() if len(names) == 1}


def _disagreement(found: HostDisagreement) -> str:
    direction = "lower" if found.ratio < 1 else "higher"
    subject = f"all {counted(found.tests, 'test')}" if found.test is None else found.test
    others = shortened(found.others)
    if len(found.others) == 1:
        return (
            f"{found.host} and {others} disagree about {found.contender}: rqps of {subject} is "
            f"{distance(found.ratio)} {direction} on {found.host}, and either may be the odd one "
            f"(by chance in less than {_chance(found.chance)})."
        )
    return (
        f"{found.host} disagrees with {others} about {found.contender}: rqps of {subject} is "
        f"{distance(found.ratio)} {direction} there (by chance in less than "
        f"{_chance(found.chance)})."
    )


def _chance(chance: float) -> str:
    return share(max(chance, 0.001))
