"""Notes on differences other than versions, builds or settings of one DBMS."""

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
    """Return sentences about the other differences; `infos` has the base first."""
    return [*_systems(infos), *_engines(infos), *_caches(infos), *_allocators(infos)]


def notes_about_single_runs(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return the same about imported runs: only their tests are known to be equal."""
    systems = _distinct(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    return [
        f"Different DBMS are compared: {listing(systems)}. The tests have the same names. The "
        "archive does not record whether rows, settings and machine were the same."
    ]


def _running(report: Report) -> list[str]:
    infos = report.contender_info
    names = [info.name for info in infos if info.running]
    if not names:
        return []
    was = "were" if len(names) > 1 else "was"
    loads = max((result.incarnations or 1 for result in report.results), default=1)
    tables = "" if loads == 1 else f", with tables loaded {loads} times"
    allows = "The intervals allow for the usual effect of a restart, not for its effect here. "
    notes = [
        f"{shortened(names)} {was} running already and {was} not restarted: one start{tables}. "
        f"{'' if _lacks_intervals(report) else allows}Settings and caches are as they were found. "
        "The CPU time, memory and disk of the server are unknown, and the host described here is "
        "the client's."
    ]
    if len(infos) > 1 and any(run.chunks for run in report.step_runs):
        notes.append(
            f"{shortened(names)} cannot be suspended during the turns of another contender in a "
            "step: its background work (checkpoints, vacuum, purge) continues then and is not "
            "measured."
        )
    if all(info.round_trip_us is not None for info in infos):
        times = [f"{info.round_trip_us:,.0f} us to {info.name}" for info in infos]
        families = known(family_if_known(info.dbms) for info in infos)
        asked = listing(_distinct(each.round_trip for each in families), "or")
        notes.append(
            f"A round trip ({asked}, one client, median) takes {listing(times)}. Rates and "
            "response times contain one for each statement; a difference in it is a difference of "
            "the network, not of the server."
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
        f"{shortened(together)} {runs} in the threads of the client, without a server. CPU time "
        "includes the client, nothing is sent over a network, and only counted work shows the "
        "parts of a change."
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
            "One start: the intervals allow for the usual effect of a restart and new tables, not "
            "for their effect here. More starts (--incarnations) measure it."
        ]
    return [
        "One start: each step was measured once on each contender, so the spread of repeated "
        "measurements is unknown. There are relative rates, but no intervals and no verdicts; more "
        "starts (--incarnations) give them."
    ]


def _systems(infos: Sequence[ContenderInfo]) -> list[str]:
    systems = _distinct(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    configs = _distinct(info.config for info in infos)
    named = (
        f"the config '{configs[0]}' is specific to each DBMS and similar in purpose only"
        if len(configs) == 1
        else f"the configs ({listing(configs)}) are specific to each DBMS"
    )
    alike = ["rows", "operations and their order", "clients", "machine", "time"]
    if any(info.running for info in infos):
        alike.remove("machine")
    return [
        f"Different DBMS are compared: {listing(systems)}. The same for all: {listing(alike)}. "
        f"Different: each DBMS has its own dialect of SQL, {named}, isolation levels that are not "
        f"set are the defaults of each DBMS, maintenance is specific to each DBMS, and plans are "
        f"compared only between contenders of one DBMS."
    ]


def _engines(infos: Sequence[ContenderInfo]) -> list[str]:
    engines = _distinct(info.engine for info in infos if info.engine is not None)
    if len(engines) < 2:
        return []
    return [
        f"Different storage engines are compared: {listing(engines)}. Statements and rows are the "
        "same; storage formats, caches and the settings that apply differ.",
        *_isolation(infos),
    ]


def _isolation(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if isolation levels differ: an engine may not support the default level.

    A contender that failed before it had settings has no level.
    """
    levels: dict[str, list[str]] = {}
    for info in infos:
        if info.engine is not None and info.settings:
            levels.setdefault(info.settings.get(_ISOLATION, _DEFAULT), []).append(info.name)
    if len(levels) < 2:
        return []
    differing = listing([f"{level} ({shortened(names)})" for level, names in levels.items()])
    return [
        f"Isolation levels differ: {differing}. Guarantees, locks and snapshots of transactions "
        f"differ with them; set {_ISOLATION} to the same level for all to compare like with like."
    ]


def _caches(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if caches differ: some versions round the size that is set."""
    sizes: dict[int, list[str]] = {}
    for info in infos:
        if info.buffer_pool_bytes is not None:
            sizes.setdefault(info.buffer_pool_bytes >> 20, []).append(info.name)
    if len(sizes) < 2:
        return []
    differing = listing([f"{size} MB ({shortened(names)})" for size, names in sizes.items()])
    return [f"The page caches of the servers differ in size: {differing}."]


def _allocators(infos: Sequence[ContenderInfo]) -> list[str]:
    """Return a note if allocators differ although none was requested."""
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
    others = listing([f"{info.name} uses {info.allocator}" for info in unasked])
    return [
        f"Allocators differ although none was requested: {base.name} uses {base.allocator}, "
        f"{others}. The comparison includes the allocators; append +{base.allocator} to a "
        "contender to use the same one."
    ]


def _wanted_allocator(info: ContenderInfo) -> str | None:
    """Return the allocator in its environment, whose other parts are `NAME=VALUE`."""
    return next((part for part in info.environment if "=" not in part), None)


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def sentences_about_hosts(report: Report) -> list[str]:
    """Return the hosts that verdicts apply to, and hosts that disagree; empty unless merged."""
    if not report.hosts:
        return []
    return [*_holding(report), *map(_disagreement, report.host_disagreements)]


def _holding(report: Report) -> Iterator[str]:
    names = [host.name for host in report.hosts]
    if len(names) == 1:
        yield f"All tests ran on one host, {names[0]}: intervals exclude variation between hosts."
        return
    groups = list(dict.fromkeys(host.group for host in report.hosts))
    several, alone = _tests(report)
    if several and alone:
        where = [f"{test} on {host}" for test, host in alone.items()]
        yield (
            f"On several hosts: {shortened(several)}; their intervals include variation between "
            f"hosts. On one host: {shortened(where)}; their intervals apply to that host only."
        )
    elif several:
        yield (
            "Intervals include variation between hosts and between restarts. They apply to hosts "
            f"like {shortened(names)}."
        )
    else:
        where = [f"{test} on {host}" for test, host in alone.items()]
        yield (
            "Each test was measured on one host, and its interval applies to that host only: "
            f"{shortened(where)}."
        )
    if len(groups) > 1:
        by_group = [
            f"{group} ({listing([host.name for host in report.hosts if host.group == group])})"
            for group in groups
        ]
        yield (
            f"The hosts have {len(groups)} models of CPU: {listing(by_group)}. A test has a "
            "verdict if the hosts of each model have that verdict on their own; otherwise it "
            "is unsure. The section by host has the verdict of each model."
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
            f"{distance(found.ratio)} {direction} on {found.host}, and either may be the exception "
            f"(by chance in less than {_chance(found.chance)})."
        )
    return (
        f"{found.host} disagrees with {others} about {found.contender}: rqps of {subject} is "
        f"{distance(found.ratio)} {direction} there (by chance in less than "
        f"{_chance(found.chance)})."
    )


def _chance(chance: float) -> str:
    return share(max(chance, 0.001))
