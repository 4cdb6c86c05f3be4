"""One result with all of its experiment's facts about it, and the measurements that it lacks.

The numbers are the report's own: they are selected here and not computed again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from slowdust import ratios
from slowdust.analysis import advised
from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import ContenderInfo, ContenderWaits, Report, Result
from slowdust.analysis.results.contenders import NOT_SET
from slowdust.analysis.stored import Stored
from slowdust.analysis.story.unsure import command_for
from slowdust.analysis.versions import find_contender, parts_of, release_of, sorted_releases
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.model import Group
from slowdust.errors import UsageError
from slowdust.ratios import at_most, speed, work_ratio
from slowdust.stats.blocks import Step
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.manifest import Manifest
from slowdust.wording import guess, listing

SCHEMA = 1
_Kind = TypeVar("_Kind", FunctionChanges, ContenderWaits)


class PlanPair(msgspec.Struct, kw_only=True):
    """A statement that the two servers execute differently."""

    statement: str
    differences: list[str]
    """The differences in words, the most important first."""
    base: str
    """The base's plan, as printed by EXPLAIN; the next field is the contender's."""
    contender: str
    base_lines: list[int]
    """Indices, from 0, of the lines that differ; the next field is the contender's."""
    contender_lines: list[int]


class SettingPair(msgspec.Struct, kw_only=True):
    """A setting that Slowdust gave to the two servers, of one DBMS, with different values."""

    name: str
    base: str
    """The base's value; '(not set)' if it has none, as in the next field."""
    contender: str


class Absent(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A missing measurement."""

    what: str
    """A sentence: 'Work was not counted.'"""
    command: str | None = None
    """The command that measures it; absent if it cannot be measured, as for single runs."""


class OneResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contender compared with the base in one test, with all measurements of both."""

    experiment: str
    base: str
    result: Result
    base_result: Result
    excluded: list[str] = []
    """Sentences on the excluded sizes of change, if time or work is not significantly different."""
    functions: FunctionChanges | None = None
    """Functions that changed; absent without profiles."""
    waits: ContenderWaits | None = None
    """The contender's waits; absent, like the next, if waits were not observed."""
    base_waits: ContenderWaits | None = None
    plans: list[PlanPair] = []
    same_plan: bool = False
    """Whether all plans were read and are the same."""
    settings: list[SettingPair] = []
    absent: list[Absent] = []
    others: list[str] = []
    """Other results of the test in words, with the options that select them."""


class Explained(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The results that `slowdust explain` shows."""

    schema: int = SCHEMA
    unfinished: str | None = None
    """'NOT FINISHED: 6 of 33 tests, 1 start of the servers.'; absent once it is finished."""
    explained: list[OneResult]


def explain_results(
    stored: Stored,
    test: str,
    contender: str | None,
    base: str | None,
    clients: int | None,
) -> Explained:
    """Return the explained results of a test.

    Without `contender` or `clients` the result with the largest change is selected; contender `*`
    selects all contenders.

    Raises:
        UsageError: the experiment has no such test, contender or number of clients, or nothing to
            compare.
    """
    report = stored.report(base)
    candidates = _candidates(stored, report, test)
    wanted = candidates
    if contender not in (None, "*"):
        name = find_contender(contender, stored.manifest.contenders)
        if name == report.base:
            raise UsageError(f"{name} is the base: name another contender, or another --base")
        wanted = [each for each in wanted if each.contender == name]
        if not wanted:
            raise UsageError(f"{name} has no result in {test}{_why_not(report, name)}")
    if clients is not None:
        levels = sorted({each.clients for each in wanted})
        wanted = [each for each in wanted if each.clients == clients]
        if not wanted:
            raise UsageError(
                f"--clients {clients}: {test} was measured with {listing(list(map(str, levels)))}"
            )
    most = max(wanted, key=_size)
    chosen = [most]
    if contender == "*":
        chosen = [each for each in wanted if each.clients == most.clients]
    explained = [_one(stored, report, each, [*candidates], chosen) for each in chosen]
    for one in explained:
        one.absent = _absent(stored, one, stored.typed)
    return Explained(unfinished=report.unfinished, explained=explained)


def _candidates(stored: Stored, report: Report, test: str) -> list[Result]:
    names = list(dict.fromkeys(result.test for result in report.results))
    if not names:
        raise UsageError(f"'{report.experiment}' has no results yet")
    if test not in names:
        raise UsageError(
            f"'{report.experiment}' has no test '{test}'"
            f"{guess(test, names) or f'; its tests are {listing(names)}'}"
        )
    if len(stored.manifest.contenders) < 2:
        raise UsageError(f"'{report.experiment}' has one contender: there is nothing to explain")
    found = [r for r in report.results if r.test == test and r.contender != report.base]
    base_clients = {r.clients for r in report.results if _is_of(r, test, report.base)}
    found = [result for result in found if result.clients in base_clients]
    if not found:
        raise UsageError(f"no result of {test} can be compared with {report.base}")
    return found


def _is_of(result: Result, test: str, contender: str) -> bool:
    return result.test == test and result.contender == contender


def _why_not(report: Report, name: str) -> str:
    info = _info(report, name)
    return f": it dropped out: {info.failed}" if info.failed else ""


def _info(report: Report, name: str) -> ContenderInfo:
    return next(info for info in report.contender_info if info.name == name)


def _size(result: Result) -> tuple[bool, float]:
    """Return a sort key: significant changes precede possible noise."""
    size = abs(math.log(result.ratio.value)) if result.ratio and result.ratio.value else 0.0
    if result.verdict in DIFFERENT and size:
        return True, size
    work = result.work and result.work.ratio
    if work and work.value and work.verdict in ("more", "less"):
        return True, abs(math.log(work.value))
    return False, size


def _one(
    stored: Stored,
    report: Report,
    result: Result,
    candidates: Sequence[Result],
    chosen: Sequence[Result],
) -> OneResult:
    step = Step.of(result)
    functions = _of_step(report.function_changes, step, result.contender)
    if functions is None and result.work is not None:
        counted = step._replace(clients=result.work.clients)
        functions = _of_step(report.function_changes, counted, result.contender)
    return OneResult(
        experiment=report.experiment,
        base=report.base,
        result=result,
        base_result=next(
            each
            for each in report.results
            if _is_of(each, result.test, report.base) and each.clients == result.clients
        ),
        excluded=_excluded(result),
        functions=functions,
        waits=_of_step(report.waits, step, result.contender),
        base_waits=_of_step(report.waits, step, report.base),
        plans=_plans(report, result),
        same_plan=result.contender in report.same_plans.get(result.test, ()),
        settings=_settings(report, result.contender),
        others=[_other(each) for each in candidates if each not in chosen],
    )


def _of_step(listed: Sequence[_Kind], step: Step, contender: str) -> _Kind | None:
    for each in listed:
        if Step.of(each) == step and each.contender == contender:
            return each
    return None


def _plans(report: Report, result: Result) -> list[PlanPair]:
    return [
        PlanPair(
            statement=each.statement,
            differences=each.differences[result.contender],
            base=each.plans[report.base],
            contender=each.plans[result.contender],
            base_lines=each.differing_lines.get(report.base, []),
            contender_lines=each.differing_lines.get(result.contender, []),
        )
        for each in report.plan_differences
        if each.test == result.test and each.base == report.base
        if result.contender in each.differences
    ]


def _settings(report: Report, contender: str) -> list[SettingPair]:
    """Return the settings that differ; settings of two DBMS are not comparable."""
    own, base = _info(report, contender), _info(report, report.base)
    if own.dbms != base.dbms:
        return []
    return [
        SettingPair(name=name, base=base.settings.get(name, NOT_SET), contender=value)
        for name, value in own.differing.items()
    ]


def _excluded(result: Result) -> list[str]:
    sentences = []
    ratio = result.ratio
    if ratio and ratio.verdict in ("same", "unsure") and ratio.interval is not None:
        low, high = ratio.interval
        nearer, farther = sorted((low, high), key=lambda bound: abs(math.log(bound)))
        ends = [f"more than {at_most(low)}", f"more than {at_most(high)}"]
        if not low <= 1 <= high:  # on one side of 1, but not significant
            ends = [f"less than {speed(nearer)}", f"more than {at_most(farther)}"]
        sentences.append(f"Excluded for time, at 95% confidence: {' or '.join(ends)}.")
    work = result.work and result.work.ratio
    if work and work.verdict in ("same", "unsure") and work.low and work.high:
        sentences.append(
            f"Excluded for work, at 95% confidence: less than {work_ratio(work.low)} or more than "
            f"{work_ratio(work.high)} of the base's instructions."
        )
    return sentences


def _other(result: Result) -> str:
    rqps = "not compared" if result.ratio is None else ratios.ratio(result.ratio.value)
    verdict = f", {result.verdict}" if result.verdict else ""
    return f"--contender '{result.contender}' --clients {result.clients}: rqps {rqps}{verdict}"


def _absent(stored: Stored, one: OneResult, typed: str) -> list[Absent]:
    """Return the measurements that are missing for a result, with commands to make them."""
    manifest, result = stored.manifest, one.result
    if manifest.imported is not None:
        return [
            Absent(
                what="Archived runs have no slices, and so no intervals, verdicts, parts of the "
                "change, functions or waits."
            )
        ]

    def again(options: Mapping[str, object]) -> str | None:
        return _compare_again(stored, one, typed, options)

    absent: list[tuple[str, str | None]] = []
    if manifest.finished is None:
        absent.append(("The experiment is not finished.", advised.resume(typed)))
    if result.verdict == "unsure":
        absent.append(("The verdict on time is unsure.", _more(manifest, result, typed)))
    if result.group != Group.CONNECTING:  # sessions too short to observe
        if result.work is None:
            reason = f" {why}" if (why := manifest.counting and manifest.counting.reason) else ""
            absent.append((f"Work was not counted.{reason}", again({"count": "valgrind"})))
        elif one.functions is None:
            what = "There are no profiles, so the changed functions are unknown."
            absent.append((what, again({"count": "valgrind"})))
        if one.waits is None:
            absent.append(("Waits of the servers were not observed.", again({"waits": True})))
    if result.explanation is None and measured_in_steps(result.benchmark):
        absent.append(("The time of long steps is not divided into parts.", None))
    elif result.explanation is None:
        what = "The parts of the change are unknown, because slices lack CPU times."
        absent.append((what, None))
    if (bisect := _bisect(stored, one, typed)) is not None:
        absent.append(("The releases between the two were not measured.", bisect))
    return [Absent(what=what, command=command) for what, command in absent]


def _more(manifest: Manifest, result: Result, typed: str) -> str | None:
    """Return the command that extends the experiment until a result is decided, if it can be."""
    is_joined = any(host.parts for host in manifest.hosts)
    if is_joined or any(facts.slowed for facts in manifest.contenders):
        return None
    foreseen = command_for(typed, [result]).strip("`")
    return foreseen or advised.more(typed, [result.test])


def _compare_again(
    stored: Stored, one: OneResult, typed: str, options: Mapping[str, object]
) -> str | None:
    """Return the command that measures the two contenders in this test again, with more options.

    None if the command line cannot express them.
    """
    return advised.compare(
        stored.manifest,
        typed,
        [one.base, one.result.contender],
        [one.result.test],
        {"clients": one.result.clients if one.result.clients > 1 else None, **options},
    )


def _bisect(stored: Stored, one: OneResult, typed: str) -> str | None:
    """Return the bisect command for the releases between two of one line that differ.

    None if the experiment has measured some of them.
    """
    changed = one.result.verdict in DIFFERENT
    counted = one.result.work is not None and one.result.work.verdict in ("more", "less")
    if not (changed or counted):
        return None
    facts = {each.name: each for each in stored.manifest.contenders}
    base, other = facts[one.base], facts[one.result.contender]
    if parts_of(base).line != parts_of(other).line:
        return None
    releases = {release_of(base), release_of(other)}
    if len(releases) < 2 or any(release.build for release in releases):
        return None
    first, last = sorted_releases(releases)
    measured = {
        release_of(facts[each.contender])
        for each in stored.report(one.base).results
        if each.test == one.result.test and each.clients == one.result.clients
        if parts_of(facts[each.contender]).line == parts_of(base).line
    }
    in_order = sorted_releases(measured)
    if in_order.index(last) - in_order.index(first) > 1:
        return None
    _, _, rest = other.name.partition(f"@{release_of(other).version}")
    if " " in rest or "#" in rest:
        return None
    return advised.bisect(
        stored.manifest,
        typed,
        f"{other.dbms}@{first.version}..{last.version}{rest}",
        one.result.test,
        {
            "clients": one.result.clients if one.result.clients > 1 else None,
            "metric": None if counted else "time",
        },
    )
