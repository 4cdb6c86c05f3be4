"""What a reader of a joined experiment has to know of its hosts, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from slowdust.analysis.model import HostDisagreement, Report
from slowdust.ratios import distance
from slowdust.wording import counted, listing, share, shortened


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
    """Return who disagrees, by how much, and how likely chance does that."""
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
    """Return a probability, rounded up to what can be said."""
    return share(max(chance, 0.001))
