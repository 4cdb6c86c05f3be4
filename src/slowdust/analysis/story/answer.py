"""The answer: what got slower beyond doubt, what got faster, and what can still be true.

It is written for a reader who reads five lines. Every size in it is a bound of a 95% interval: the
bound nearer 1 of what is different, rounded towards 1, and the bounds farther from 1 of the rest,
rounded away from it, so that no line says more than the intervals do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowdust.analysis import advised
from slowdust.analysis.advised import typed_name
from slowdust.analysis.model import (
    Answer,
    Noise,
    Report,
    Result,
)
from slowdust.analysis.results.failures import (
    fails,
    levels_of,
    sentences_about_failed_steps,
    sentences_about_failures,
)
from slowdust.analysis.results.needed import time_to_decide
from slowdust.benchmarks.model import Group
from slowdust.dbms import family_if_known
from slowdust.dbms.family import Commit
from slowdust.ratios import Verdict, at_least, at_most
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.folder import is_part_of_fleet
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import counted, listing, share, short_names, shortened, step_label

MOST_NAMED = 5
"""The most contenders beside the base whose tests are named; of more, each has its worst test."""
_UNKNOWN = 3.0
"""Ratio from which a bound tells nothing: 'at most 67% slower' is no answer."""
_MOST_DECIDED = 0.75
"""Share of the unsure results that the command in the last line is to decide."""

_CONSISTS = "report.html has what each change consists of."

_Name = Callable[[Result], str]
"""A function that names a result's test in a sentence."""
_MB = 1 << 20
_BUSY = 0.05
"""Share of the CPUs that others used, from which the host is called busy."""
_MOST_NAMED = 2
"""The most contenders that are named where only their commits wait for the disk."""


def answer_of(manifest: Manifest, report: Report) -> Answer | None:
    """Return the answer, of a contender alone only the conditions.

    None for imported runs and calibrations.
    """
    if report.imported is not None or report.calibration is not None:
        return None
    conditions = conditions_of(manifest, report.noise)
    failures = " ".join([*sentences_about_failures(report), *sentences_about_failed_steps(report)])
    if len(report.contenders) < 2:
        return Answer(failures=failures, conditions=conditions)
    compared = [result for result in report.results if result.contender != report.base]
    return Answer(
        failures=failures,
        conditions=conditions,
        slower=_different(report, "slower"),
        faster=_different(report, "faster"),
        rest=_rest(report, compared),
        next=_next(manifest, report, compared),
    )


def unfinished(manifest: Manifest, slices: Sequence[Slice]) -> str | None:
    """Return 'NOT FINISHED: 6 of 33 tests, 1 start of the servers'; None of a finished one.

    An import is complete, unless an earlier Slowdust was interrupted in it.
    """
    if manifest.imported is not None:
        there = {record.place.test for record in slices}
        lacking = [test for test in manifest.tests if test not in there]
        return (
            f"INCOMPLETE: no result of {len(lacking)} of {counted(len(manifest.tests), 'test')}; "
            f"import {manifest.imported.path or manifest.imported.source} again."
            if lacking
            else None
        )
    if manifest.finished is not None:
        return None
    planned = len(manifest.tests) * len(manifest.clients)
    measured = {(record.place.test, record.place.clients) for record in slices}
    starts = len({record.place.incarnation for record in slices})
    return (
        f"NOT FINISHED: {len(measured)} of {counted(planned, 'test')}, "
        f"{counted(starts, 'start')} of the servers."
    )


def _namer(report: Report) -> _Name:
    levels = {result.clients for result in report.results}
    return lambda result: step_label(result.test, result.clients, levels)


def _different(report: Report, verdict: Verdict) -> str:
    """Return who has which tests with this verdict, by at least how much, then the same of work.

    Empty where nothing has a verdict, on time or on work.
    """
    name = _namer(report)
    names = short_names(report.contenders)
    amount = "more" if verdict == "slower" else "less"
    others = report.contenders[1:]
    times, works = [], []
    for contender in others:
        results = [result for result in report.results if result.contender == contender]
        changed = sorted(
            (result for result in results if result.verdict == verdict), key=_size, reverse=True
        )
        counts = sorted(
            (r for r in results if r.work is not None and r.work.verdict == amount),
            key=_size_of_work,
            reverse=True,
        )
        whose = "" if len(others) == 1 else f"{names[contender]} in "
        few = len(others) <= MOST_NAMED
        if changed:
            sizes = [f"{name(r)} ({at_least(r.bound or 1.0)})" for r in changed]
            times.append(f"{whose}{_names_of(sizes, whole=few)}")
        if counts:
            sizes = [f"{name(r)} ({at_least((r.work and r.work.bound) or 1.0)})" for r in counts]
            works.append(f"{whose}{_names_of(sizes, whole=few)}")
    judged = any(result.verdict for result in report.results)
    text = _sentence(times, "") if times or judged else ""
    if works:
        text = f"{text} {_sentence(works, f'{amount.capitalize()} work: ')}".strip()
    return text


def _sentence(parts: Sequence[str], head: str) -> str:
    if not parts:
        return "Nothing beyond doubt."
    more = len(parts) - MOST_NAMED
    text = "; ".join(parts[:MOST_NAMED]) + (
        f"; and {counted(more, 'more contender')}" if more > 0 else ""
    )
    return f"{head}{text}."


def _names_of(sizes: Sequence[str], *, whole: bool) -> str:
    if whole or len(sizes) == 1:
        return shortened(sizes)
    return f"{len(sizes)} tests, most in {sizes[0]}"


def _size(result: Result) -> float:
    return abs(math.log(result.bound or 1.0))


def _size_of_work(result: Result) -> float:
    assert result.work is not None
    return abs(math.log(result.work.bound or 1.0))


def _rest(report: Report, compared: Sequence[Result]) -> str:
    name = _namer(report)
    several = len(report.contenders) > 2
    names = short_names(report.contenders)
    rest = [r for r in compared if r.verdict is not None and r.verdict not in DIFFERENT]
    if not rest:
        return ""

    def whose(result: Result) -> str:
        return f"{name(result)} on {names[result.contender]}" if several else name(result)

    bounded = {id(result): bounds for result in rest if (bounds := _bounds(result)) is not None}
    open_ones = [result for result in rest if id(result) not in bounded]
    same = sum(result.verdict == "same" for result in rest)
    what = "result" if several else "test"
    tally = f"{counted(same, what)} the same" if same else f"no {what} the same"
    if len(rest) > same:
        tally += f", {len(rest) - same} unsure"
    text = ""
    if bounded:
        slowest = min((r for r in rest if id(r) in bounded), key=lambda r: bounded[id(r)][0])
        fastest = max((r for r in rest if id(r) in bounded), key=lambda r: bounded[id(r)][1])
        low, high = bounded[id(slowest)][0], bounded[id(fastest)][1]
        below = f" ({whose(slowest)})" if slowest is not fastest or high <= 1 else ""
        sides = [
            *([f"{at_most(low)}{below}"] if low < 1 else []),
            *([f"{at_most(high)} ({whose(fastest)})"] if high > 1 else []),
        ]
        others = any(result.verdict in DIFFERENT for result in compared)
        anything = "Nothing else" if others else "Nothing"
        anything = "Of the others, nothing" if open_ones else anything
        text = f"{anything} can be more than {listing(sides, 'or')}: {tally}."
    if open_ones:
        labels = shortened([whose(result) for result in open_ones])
        text = f"Nothing useful is known yet of {labels}. {text}".strip()
    return text


def _bounds(result: Result) -> tuple[float, float] | None:
    """Return the interval; None where there is none that tells anything."""
    interval = None if result.ratio is None else result.ratio.interval
    return None if interval is None or is_open(*interval) else interval


def is_open(low: float, high: float) -> bool:
    """Return whether an interval leaves open on which side of 1 the ratio is, and how far."""
    return low < 1 < high and (low < 1 / _UNKNOWN or high > _UNKNOWN)


def _next(manifest: Manifest, report: Report, compared: Sequence[Result]) -> str:
    name = typed_name(report)
    if report.hosts:
        return _next_of_joined(report, compared)
    if report.unfinished is not None:
        return f"`{advised.resume(name)}` finishes it."
    unsure = [result for result in compared if result.verdict == "unsure"]
    if unsure:
        return _to_decide(name, unsure)
    changed = [result for result in compared if result.verdict in DIFFERENT]
    waiting = [commit.waits_for_disk for commit in commits_waiting(manifest.contenders).values()]
    writes = [r for r in changed if r.group == Group.WRITE.value and not r.writers]
    if writes and waiting and not any(waiting):
        contenders = [_durable(manifest, contender) for contender in report.contenders]
        command = advised.compare(manifest, name, contenders, [result.test for result in writes])
        if command and len(report.contenders) <= MOST_NAMED:
            return f"Writes that wait for the disk may differ less: `{command}`."
    decided = _decided(report)
    return f"{decided}; {_CONSISTS}" if changed else f"{decided}."


def _next_of_joined(report: Report, compared: Sequence[Result]) -> str:
    open_hosts = [host.name for host in report.hosts if host.finished is None]
    is_unsure = any(result.verdict == "unsure" for result in compared)
    if any(is_part_of_fleet(Path(part.path)) for host in report.hosts for part in host.experiments):
        if open_hosts:
            return f"`{advised.resume(typed_name(report), 'ADDRESS')}` finishes it."
        if is_unsure:
            return "More hosts (--replicate), or a larger budget, would tell, under another name."
    elif open_hosts:
        return f"Finish what runs on {shortened(open_hosts)}, and `slowdust merge` again."
    elif is_unsure:
        return "More hosts, or more time on these, would tell: measure, and `slowdust merge` again."
    return f"{_decided(report)}; {_CONSISTS}"


def _decided(report: Report) -> str:
    """Say what is decided: of a test that fails, nothing is."""
    name = _namer(report)
    failing = [name(each) for each in report.results if fails(each.failures)]
    levels = levels_of(report)
    ended = [step_label(each.test, each.clients, levels) for each in report.failed_steps]
    judged = {name(each) for each in report.results if each.verdict is not None}
    failing = [*dict.fromkeys([*failing, *(label for label in ended if label not in judged)])]
    if not failing:
        measured = any(result.contender == report.base for result in report.results)
        return "Everything is decided" if measured else "Nothing is decided: the base has no result"
    if {*failing} >= {name(each) for each in report.results}:
        return "Nothing is decided: correct what fails, and measure again"
    return f"Everything is decided but {shortened(failing)}: correct what fails, and measure again"


def _durable(manifest: Manifest, contender: str) -> str:
    config = next(each.config for each in manifest.contenders if each.name == contender)
    if config == "default":
        head, plus, environment = contender.partition("+")
        return f"{head.removesuffix(':default')}:durable{plus}{environment}"
    return contender


def _to_decide(name: str, unsure: Sequence[Result]) -> str:
    """Return the command that decides most of the unsure results, as far as it is foreseen."""
    for part in (1.0, _MOST_DECIDED):
        extra = time_to_decide(unsure, part)
        if extra is not None:
            what = "it" if len(unsure) == 1 else "all that is unsure" if part == 1.0 else "most"
            return f"`{advised.more(name, budget=extra)}` would decide {what}."
    command = advised.more(name, options={"until_decided": True})
    return f"`{command}` goes on with what is unsure."


def conditions_of(manifest: Manifest, noise: Noise | None) -> str:
    contenders = manifest.contenders
    parts = [
        *_clients(manifest.clients),
        *_data(manifest),
        *_durability(contenders),
        *_background(contenders),
        *_host(manifest, noise),
    ]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if parts else ""


def commits_waiting(contenders: Sequence[ContenderFacts]) -> dict[str, Commit]:
    """Return contender -> what its commits do; without those that have no disk to wait for.

    Empty where that of one of them is not known.
    """
    if any(each.running and not _tells_commits(each.dbms) for each in contenders):
        return {}
    commits = {
        each.name: known_family.commit(each.settings, each.engine)
        for each in contenders
        if (known_family := family_if_known(each.dbms)) is not None
    }
    return {name: commit for name, commit in commits.items() if commit is not None}


def _tells_commits(dbms: str) -> bool:
    known_family = family_if_known(dbms)
    by_url = None if known_family is None else known_family.by_url
    return by_url is None or by_url.settings_tell_commits


def _clients(levels: Sequence[int]) -> list[str]:
    if not levels:
        return []
    if len(levels) == 1:
        return [counted(levels[0], "client")]
    return [f"{listing([*map(str, levels)])} clients"]


def _data(manifest: Manifest) -> list[str]:
    """Return '100,000 rows, 24 MB with indexes, in a cache of 128 MB'."""
    method = manifest.method
    parts = []
    if method.steps is not None:
        parts.append(f"workload {method.steps.workload}")
    elif manifest.workload is not None:
        tables = counted(len(manifest.workload.rows), "table")
        rows = counted(sum(manifest.workload.rows.values()), "row")
        parts.append(f"workload {manifest.workload.name}, {tables} with {rows}")
    elif method.data is not None:
        parts.append(method.data)
    elif method.rows is not None:
        tables = counted(method.tables, "table") if method.tables else ""
        rows = counted(method.rows, "row")
        parts.append(f"{tables} of {rows}" if tables else rows)
    sizes = known(
        None if each.table_bytes is None else each.table_bytes + (each.index_bytes or 0)
        for each in manifest.contenders
    )
    if sizes:
        parts.append(f"{_megabytes(sizes)} with indexes")
    caches = known(each.buffer_pool_bytes for each in manifest.contenders)
    if caches:
        parts.append(f"a cache of {_megabytes(caches)}")
    if method.memory_bytes is not None:
        parts.append(f"memory limited to {_megabytes([method.memory_bytes])}")
    return [", ".join(parts)] if parts else []


def _megabytes(sizes: Sequence[int]) -> str:
    """Return '24 MB', or '24 to 31 MB' where contenders differ."""
    low, high = (
        f"{size / _MB:,.0f}" if size >= _MB else f"{size / _MB:.1g}"
        for size in (min(sizes), max(sizes))
    )
    return f"{low} MB" if low == high else f"{low} to {high} MB"


def _durability(contenders: Sequence[ContenderFacts]) -> list[str]:
    commits = commits_waiting(contenders)
    names = short_names([each.name for each in contenders])
    waiting = [names[name] for name, commit in commits.items() if commit.waits_for_disk]
    if not commits:
        return []
    if len(waiting) == len(commits):
        return ["each commit waits for the disk"]
    settings = dict.fromkeys(c.setting for c in commits.values() if not c.waits_for_disk)
    if not waiting:
        return [f"no commit waits for the disk ({shortened([*settings])})"]
    few = len(waiting) <= _MOST_NAMED
    where = listing(waiting) if few else f"{len(waiting)} of {len(commits)} contenders"
    return [f"commits wait for the disk on {where}, on no other ({shortened([*settings])})"]


def _background(contenders: Sequence[ContenderFacts]) -> list[str]:
    """Return 'autovacuum=off' and its like, as far as all contenders that have them are alike."""
    values: dict[str, set[str]] = {}
    for contender in contenders:
        known_family = family_if_known(contender.dbms)
        for name in () if known_family is None else known_family.background_settings:
            if name in contender.settings:
                values.setdefault(name, set()).add(contender.settings[name])
    return [f"{name}={next(iter(given))}" for name, given in values.items() if len(given) == 1]


def _hosts(manifest: Manifest) -> str:
    """Return '3 hosts (2 CPUs each, Xeon)', or the hosts of each model of CPU."""
    groups: dict[str, list[int]] = {}
    for host in manifest.hosts:
        groups.setdefault(host.group, []).append(len(host.cpus))
    if len(groups) > 1:
        parts = [f"{len(cpus)} of {group}" for group, cpus in groups.items()]
        return f"{len(manifest.hosts)} hosts: {listing(parts)}"
    [(group, cpus)] = groups.items()
    alike = len(set(cpus)) == 1 and cpus[0]
    each = " each" if len(cpus) > 1 else ""
    size = f"{counted(cpus[0], 'CPU')}{each}, " if alike else ""
    return f"{counted(len(manifest.hosts), 'host')} ({size}{group})"


def _host(manifest: Manifest, noise: Noise | None) -> list[str]:
    host: Mapping[str, str] = manifest.host
    if manifest.hosts:
        return [_hosts(manifest)]
    cpus = counted(len(manifest.cpus), "CPU") if manifest.cpus else ""
    model = f"({host['CPU']})" if "CPU" in host else ""
    text = " ".join(filter(None, (cpus, model)))
    if not text:
        return []
    if host.get("Virtual machine") == "yes":
        text += ", virtual"
    busy = 0.0 if noise is None else (noise.other_cpu or 0.0) + (noise.steal or 0.0)
    return [f"{text}, {share(busy)} used by others" if busy >= _BUSY else text]
