"""The answer, the first screen of a report: what was measured, what changed, and what is open.

Bounds belong to 95% intervals. The bound nearer 1 is rounded towards 1 and the other one away
from it, so that no line claims more than the intervals do.
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
from slowdust.analysis.results.notes import BUSY_CLIENT
from slowdust.analysis.story.changes import changes_of
from slowdust.analysis.story.unsure import too_few_starts, why_so_little
from slowdust.analysis.versions import reader_names
from slowdust.benchmarks.model import Group
from slowdust.dbms import family_if_known
from slowdust.dbms.family import Commit
from slowdust.ratios import at_most
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.folder import is_part_of_fleet
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import (
    counted,
    listing,
    rough_duration,
    share,
    short_names,
    shortened,
    step_label,
)

_UNKNOWN = 3.0
"""The smallest ratio that is useless as a bound, such as 'at most 67% slower'."""
_MOST_DECIDED = 0.75
"""Share of the unsure results that a command is to decide if it cannot decide all."""
_MOST_NAMED = 5
"""The most contenders that a list or a command names."""
_MOST_WAITING = 2
"""If only the commits of some contenders wait for the disk, up to this many are named."""
_MB = 1 << 20
_BUSY = 0.05
"""The smallest share of the CPUs used by other programs for which the host is called busy."""


def answer_of(manifest: Manifest, report: Report) -> Answer | None:
    """Return the answer: for imported runs and a contender alone only the conditions.

    None for calibrations.
    """
    if report.calibration is not None:
        return None
    compared = [result for result in report.results if result.contender != report.base]
    answer = Answer(
        failures=" ".join(
            [*sentences_about_failures(report), *sentences_about_failed_steps(report)]
        ),
        warnings=[*limits(report), *_after_start(manifest, report)],
        conditions="; ".join([_contenders(report), *_conditions(manifest, report.noise)]) + ".",
    )
    if len(report.contenders) > 1 and report.imported is None:
        found = changes_of(report)
        answer.slower, answer.faster, answer.work = (
            [line.text for line in lines] for lines in (found.slower, found.faster, found.work)
        )
        answer.rest = _rest(report, compared)
        answer.open = _open(report, compared)
        answer.next = _next(manifest, report, compared)
    return answer


def unfinished(manifest: Manifest, slices: Sequence[Slice]) -> str | None:
    """Return 'NOT FINISHED: 6 of 33 tests, 1 start of the servers'; None of a finished experiment.

    An import is complete unless an earlier Slowdust was interrupted in it.
    """
    if manifest.imported is not None:
        there = {record.place.test for record in slices}
        lacking = [test for test in manifest.tests if test not in there]
        return (
            f"INCOMPLETE: {len(lacking)} of {counted(len(manifest.tests), 'test')} lack a result; "
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


def _after_start(manifest: Manifest, report: Report) -> list[str]:
    """Return the warnings of the analysis: different starts of tests that may explain a change."""
    return [warning for warning in report.warnings if warning not in manifest.warnings]


def limits(report: Report) -> list[str]:
    """Return sentences on results that do not say how fast a server is."""
    levels = {result.clients for result in report.results}
    names = report.short_names
    limited, silent, failing = dict[str, None](), list[str](), dict[str, None]()
    cached = dict[str, None]()
    for result in report.results:
        label = step_label(result.test, result.clients, levels)
        if (result.client_busiest_thread or 0.0) > BUSY_CLIENT:
            limited[label] = None
        if result.errors:
            failing[label] = None
        if result.storage is not None and (result.storage.data_per_pool or math.inf) <= 1:
            cached[label] = None
        silent += [
            f"{names[result.contender]} in start {start} of {label}"
            for start in result.silent_incarnations
        ]
    sentences = []
    if silent:
        sentences.append(f"No operation was completed by {shortened(silent)}.")
    if limited:
        sentences.append(f"The client, not the server, was the limit of {shortened([*limited])}.")
    if failing:
        sentences.append(f"Operations failed in {shortened([*failing])}.")
    if cached:
        sentences.append(
            f"The data fit in the page cache in {shortened([*cached])}: a smaller --pool measures "
            "reads from storage."
        )
    return sentences


def _contenders(report: Report) -> str:
    """Return 'postgres@17.6 compared with postgres@15.8'; of many contenders their number."""
    base, *others = report.names.values()
    if not others:
        return base
    who = listing(others) if len(others) <= _MOST_NAMED else counted(len(others), "contender")
    return f"{who} compared with {base}"


def _rest(report: Report, compared: Sequence[Result]) -> str:
    """Return the bounds of the results that are neither slower nor faster, and their number."""
    rest = [r for r in compared if r.verdict is not None and r.verdict not in DIFFERENT]
    if not rest:
        return ""
    several, label = len(report.contenders) > 2, _namer(report)
    names = report.short_names

    def name(result: Result) -> str:
        return f"{label(result)} on {names[result.contender]}" if several else label(result)

    bounded = {id(result): bounds for result in rest if (bounds := _bounds(result)) is not None}
    unbounded = [result for result in rest if id(result) not in bounded]
    tally = _tally(rest, "result" if several else "test")
    sides = []
    if bounded:
        slowest = min((r for r in rest if id(r) in bounded), key=lambda r: bounded[id(r)][0])
        fastest = max((r for r in rest if id(r) in bounded), key=lambda r: bounded[id(r)][1])
        low, high = bounded[id(slowest)][0], bounded[id(fastest)][1]
        alone = slowest is fastest and high > 1
        sides = [
            *([f"{at_most(low)}{'' if alone else f' ({name(slowest)})'}"] if low < 1 else []),
            *([f"{at_most(high)} ({name(fastest)})"] if high > 1 else []),
        ]
    text = f"At most {listing(sides, 'or')}; {tally}." if sides else f"{tally}.".capitalize()
    if not unbounded:
        return text
    return f"{text} No useful bound yet: {shortened([name(result) for result in unbounded])}."


def _tally(rest: Sequence[Result], what: str) -> str:
    """Return '2 tests are the same, 5 are unsure'."""
    same = sum(result.verdict == "same" for result in rest)
    unsure = len(rest) - same
    parts = []
    if same:
        parts.append(f"{counted(same, what)} {'is' if same == 1 else 'are'} the same")
    if unsure:
        subject = str(unsure) if same else counted(unsure, what)
        parts.append(f"{subject} {'is' if unsure == 1 else 'are'} unsure")
    return ", ".join(parts)


def _bounds(result: Result) -> tuple[float, float] | None:
    """Return the interval; None where it is too wide to be of use."""
    interval = None if result.ratio is None else result.ratio.interval
    return None if interval is None or is_open(*interval) else interval


def is_open(low: float, high: float) -> bool:
    """Return whether an interval includes 1 and reaches too far from it to be useful."""
    return low < 1 < high and (low < 1 / _UNKNOWN or high > _UNKNOWN)


def _open(report: Report, compared: Sequence[Result]) -> str:
    """Return what is not decided, why, and the command that would decide it."""
    name = typed_name(report)
    if report.hosts:
        return _open_of_merged(report, compared)
    if report.unfinished is not None:
        return f"`{advised.resume(name)}` completes it."
    if not any(result.contender == report.base for result in report.results):
        return "Nothing is decided: the base has no result."
    unsure = [result for result in compared if result.verdict == "unsure"]
    if not unsure:
        return ""
    return " ".join([_to_decide(name, unsure), *why_so_little(report), *too_few_starts(compared)])


def _open_of_merged(report: Report, compared: Sequence[Result]) -> str:
    open_hosts = [host.name for host in report.hosts if host.finished is None]
    is_unsure = any(result.verdict == "unsure" for result in compared)
    if any(is_part_of_fleet(Path(part.path)) for host in report.hosts for part in host.experiments):
        if open_hosts:
            return f"`{advised.resume(typed_name(report), 'ADDRESS')}` completes it."
        if is_unsure:
            return "More hosts (--replicate) or a larger budget, in a new experiment."
    elif open_hosts:
        return f"Complete the experiments on {shortened(open_hosts)}, then `slowdust merge` again."
    elif is_unsure:
        return "Measure on more hosts, or longer on these, then `slowdust merge` again."
    return ""


def _next(manifest: Manifest, report: Report, compared: Sequence[Result]) -> str:
    """Return advice where nothing is left to decide."""
    if report.unfinished is not None or any(result.verdict == "unsure" for result in compared):
        return ""
    if failing := _without_verdict(report):
        return f"Correct the failures of {shortened(failing)}, then measure again."
    changed = [result for result in compared if result.verdict in DIFFERENT]
    waiting = [commit.waits_for_disk for commit in commits_waiting(manifest.contenders).values()]
    writes = [r for r in changed if r.group == Group.WRITE.value and not r.writers]
    if writes and waiting and not any(waiting) and len(report.contenders) <= _MOST_NAMED:
        contenders = [_durable(manifest, contender) for contender in report.contenders]
        tests = [result.test for result in writes]
        command = advised.compare(manifest, typed_name(report), contenders, tests)
        if command:
            return f"Writes that wait for the disk may differ less: `{command}`."
    return ""


def _without_verdict(report: Report) -> list[str]:
    """Return the tests that fail, and steps that failed everywhere."""
    name = _namer(report)
    failing = [name(each) for each in report.results if fails(each.failures)]
    levels = levels_of(report)
    ended = [step_label(each.test, each.clients, levels) for each in report.failed_steps]
    judged = {name(each) for each in report.results if each.verdict is not None}
    return [*dict.fromkeys([*failing, *(label for label in ended if label not in judged)])]


def _namer(report: Report) -> Callable[[Result], str]:
    levels = {result.clients for result in report.results}
    return lambda result: step_label(result.test, result.clients, levels)


def _durable(manifest: Manifest, contender: str) -> str:
    config = next(each.config for each in manifest.contenders if each.name == contender)
    if config == "default":
        head, plus, environment = contender.partition("+")
        return f"{head.removesuffix(':default')}:durable{plus}{environment}"
    return contender


def _to_decide(name: str, unsure: Sequence[Result]) -> str:
    """Return the command that decides most of the unsure results, as far as that is forecast."""
    for part in (1.0, _MOST_DECIDED):
        extra = time_to_decide(unsure, part)
        if extra is not None:
            what = "all unsure tests" if part == 1.0 else "most of the unsure tests"
            what = "the unsure test" if len(unsure) == 1 else what
            command = advised.more(name, budget=extra)
            return f"`{command}` would decide {what}, in {rough_duration(extra)}."
    command = advised.more(name, options={"until_decided": True})
    return f"`{command}` measures until every test is decided."


def conditions_of(manifest: Manifest, noise: Noise | None) -> str:
    """Return what was measured, but for the contenders, as a sentence."""
    text = "; ".join(_conditions(manifest, noise))
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _conditions(manifest: Manifest, noise: Noise | None) -> list[str]:
    contenders = manifest.contenders
    return [
        *_clients(manifest.clients),
        *_data(manifest),
        *_durability(contenders),
        *_background(contenders),
        *_host(manifest, noise),
    ]


def commits_waiting(contenders: Sequence[ContenderFacts]) -> dict[str, Commit]:
    """Return contender -> what its commits do, without contenders that have no disk to wait for.

    Empty if the commits of a contender are unknown.
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
    built = reader_names(contenders)
    names = dict(zip(built, short_names([*built.values()]).values(), strict=True))
    waiting = [names[name] for name, commit in commits.items() if commit.waits_for_disk]
    if not commits:
        return []
    if len(waiting) == len(commits):
        return ["each commit waits for the disk"]
    settings = dict.fromkeys(c.setting for c in commits.values() if not c.waits_for_disk)
    if not waiting:
        return [f"no commit waits for the disk ({shortened([*settings])})"]
    few = len(waiting) <= _MOST_WAITING
    where = listing(waiting) if few else f"{len(waiting)} of {len(commits)} contenders"
    return [f"commits wait for the disk only on {where} ({shortened([*settings])})"]


def _background(contenders: Sequence[ContenderFacts]) -> list[str]:
    """Return settings such as 'autovacuum=off' that all contenders share."""
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
