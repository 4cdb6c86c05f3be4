"""One result with all that its experiment knows about it, and what would tell more.

The numbers are the report's own: nothing is computed anew here, only chosen.
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
    """A statement that the two servers execute in different ways."""

    statement: str
    differences: list[str]
    """What differs in words, the most important first."""
    base: str
    """The base's plan, as EXPLAIN prints it; the next is the contender's."""
    contender: str
    base_lines: list[int]
    """Places of the lines that differ, from 0; the next are the contender's."""
    contender_lines: list[int]


class SettingPair(msgspec.Struct, kw_only=True):
    """A setting that Slowdust gave two servers of one DBMS with different values."""

    name: str
    base: str
    """The base's value, or '(not set)', as the next may be."""
    contender: str


class Absent(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What was not measured, and would tell more."""

    what: str
    """A sentence: 'The work was not counted.'"""
    command: str | None = None
    """The command that would tell it; absent if nothing can, as for single runs."""


class OneResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contender in one test beside the base, with all that was measured of both."""

    experiment: str
    base: str
    result: Result
    base_result: Result
    excluded: list[str] = []
    """Sentences on what the intervals exclude, where time or work did not change for certain."""
    functions: FunctionChanges | None = None
    """Functions that changed; absent where there are no profiles."""
    waits: ContenderWaits | None = None
    """What it waited for; absent, as the next, where waits were not observed."""
    base_waits: ContenderWaits | None = None
    plans: list[PlanPair] = []
    same_plan: bool = False
    """Whether the plans of all statements were read, and are the same."""
    settings: list[SettingPair] = []
    absent: list[Absent] = []
    others: list[str] = []
    """Other results of the test in words, with the options that show them."""


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

    Without a `contender`, or without `clients`, the result that changed most is taken; `*` are all
    contenders.

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
            raise UsageError(f"{name} is the base: name another one, or another --base")
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
        raise UsageError(f"'{report.experiment}' has no result yet")
    if test not in names:
        raise UsageError(
            f"no test of '{report.experiment}' is called '{test}'"
            f"{guess(test, names) or f': it has {listing(names)}'}"
        )
    if len(stored.manifest.contenders) < 2:
        raise UsageError(f"'{report.experiment}' has one contender: there is nothing to explain")
    found = [r for r in report.results if r.test == test and r.contender != report.base]
    base_clients = {r.clients for r in report.results if _is_of(r, test, report.base)}
    found = [result for result in found if result.clients in base_clients]
    if not found:
        raise UsageError(f"nothing in {test} can be compared with {report.base}")
    return found


def _is_of(result: Result, test: str, contender: str) -> bool:
    return result.test == test and result.contender == contender


def _why_not(report: Report, name: str) -> str:
    info = _info(report, name)
    return f": it dropped out: {info.failed}" if info.failed else ""


def _info(report: Report, name: str) -> ContenderInfo:
    return next(info for info in report.contender_info if info.name == name)


def _size(result: Result) -> tuple[bool, float]:
    """Return a sort key: what changed for certain is ahead of what may be noise."""
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
    """Return the settings that differ; those of two DBMS are not the same ones."""
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
        if not low <= 1 <= high:  # it is on one side, and not beyond what chance does
            ends = [f"less than {speed(nearer)}", f"more than {at_most(farther)}"]
        sentences.append(f"In time, with 95%: {' or '.join(ends)}.")
    work = result.work and result.work.ratio
    if work and work.verdict in ("same", "unsure") and work.low and work.high:
        sentences.append(
            f"In work, with 95%: less than {work_ratio(work.low)} or more than "
            f"{work_ratio(work.high)} of the base's instructions."
        )
    return sentences


def _other(result: Result) -> str:
    rqps = "not compared" if result.ratio is None else ratios.ratio(result.ratio.value)
    verdict = f", {result.verdict}" if result.verdict else ""
    return f"--contender '{result.contender}' --clients {result.clients}: rqps {rqps}{verdict}"


def _absent(stored: Stored, one: OneResult, typed: str) -> list[Absent]:
    """Return what was not measured of a result, each with the command that would tell it."""
    manifest, result = stored.manifest, one.result
    if manifest.imported is not None:
        return [
            Absent(
                what="Archived runs have no slices: so there are no intervals and verdicts, parts "
                "of the change, functions or waits."
            )
        ]

    def again(options: Mapping[str, object]) -> str | None:
        return _compare_again(stored, one, typed, options)

    absent: list[tuple[str, str | None]] = []
    if manifest.finished is None:
        absent.append(("The experiment is not finished.", advised.resume(typed)))
    if result.verdict == "unsure":
        absent.append(("Time is unsure.", _more(manifest, result, typed)))
    if result.group != Group.CONNECTING:  # whose sessions end before anybody can observe them
        if result.work is None:
            reason = f" {why}" if (why := manifest.counting and manifest.counting.reason) else ""
            absent.append((f"The work was not counted.{reason}", again({"count": "valgrind"})))
        elif one.functions is None:
            what = "There are no profiles: which functions changed is not known."
            absent.append((what, again({"count": "valgrind"})))
        if one.waits is None:
            absent.append(("What the servers waited for was not observed.", again({"waits": True})))
    if result.explanation is None and measured_in_steps(result.benchmark):
        absent.append(("The time of long steps is not split into parts.", None))
    elif result.explanation is None:
        what = "The parts of the change are not known, for want of CPU times of slices."
        absent.append((what, None))
    if (bisect := _bisect(stored, one, typed)) is not None:
        absent.append(("Releases between the two were not measured.", bisect))
    return [Absent(what=what, command=command) for what, command in absent]


def _more(manifest: Manifest, result: Result, typed: str) -> str | None:
    """Return the command that measures on until a result is decided; None where none goes on."""
    is_joined = any(host.parts for host in manifest.hosts)
    if is_joined or any(facts.slowed for facts in manifest.contenders):
        return None
    foreseen = command_for(typed, [result]).strip("`")
    return foreseen or advised.more(typed, [result.test])


def _compare_again(
    stored: Stored, one: OneResult, typed: str, options: Mapping[str, object]
) -> str | None:
    """Return the command that measures the two contenders in this test again, with more options.

    None where the command line cannot say what they are.
    """
    return advised.compare(
        stored.manifest,
        typed,
        [one.base, one.result.contender],
        [one.result.test],
        {"clients": one.result.clients if one.result.clients > 1 else None, **options},
    )


def _bisect(stored: Stored, one: OneResult, typed: str) -> str | None:
    """Return the search among the releases between two that are of one line and differ.

    None where the experiment has measured some of them: they come first.
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
    _, _, behind = other.name.partition(f"@{release_of(other).version}")
    if " " in behind or "#" in behind:
        return None
    return advised.bisect(
        stored.manifest,
        typed,
        f"{other.dbms}@{first.version}..{last.version}{behind}",
        one.result.test,
        {
            "clients": one.result.clients if one.result.clients > 1 else None,
            "metric": None if counted else "time",
        },
    )
