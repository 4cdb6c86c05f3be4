"""Operations that failed or returned a wrong result: from 1% on, a test has no verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from slowdust.analysis.model import Failures, Report, Result
from slowdust.stats.blocks import Step
from slowdust.store.slice import Slice
from slowdust.wording import (
    MOST_LISTED,
    counted,
    first_line,
    listing,
    share,
    step_label,
)

WRONG_RESULT = "wrong-row-count"
"""The driver's key for operations that returned an unexpected number of rows."""
MOST_FAILING = 0.01
"""Smallest share of failed executions that withholds a verdict."""
_LONGEST_TEXT = 200


def count_failures(slices: Iterable[Slice]) -> Failures | None:
    """Return the failures among the executions of one step and contender; None without any.

    A collision that was retried is not a failure. In a long step an execution is a statement.
    """
    done = failed = wrong = 0
    states: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for record in slices:
        measured = record.measured
        executed = measured.operations if record.step is None else measured.statements
        if executed is None:  # a single run has only its rate
            continue
        errors = sum(measured.errors.values()) - measured.errors.get(WRONG_RESULT, 0)
        done += executed
        failed += max(0, errors - measured.retries)
        wrong += min(executed, measured.errors.get(WRONG_RESULT, 0))
        states.update(measured.errors)
        texts = measured.error_texts | texts
    if not failed + wrong:
        return None
    state, _ = states.most_common(1)[0]
    return Failures(
        executions=done + failed, failed=failed + wrong, state=state, text=texts.get(state)
    )


def fails(failures: Failures | None) -> bool:
    """Return whether too many executions failed for a verdict."""
    return failures is not None and failures.failed >= MOST_FAILING * failures.executions


def withdraw_comparisons(results: Sequence[Result], base: str) -> None:
    """Remove comparisons with the base, including work, from the results of failing tests."""
    failing = {Step.of(r) for r in results if r.contender == base and fails(r.failures)}
    for result in results:
        if fails(result.failures) or Step.of(result) in failing:
            result.compared = {}
            if (time := result.response_time) is not None:
                time.relative = None
            if (work := result.work) is not None:
                work.ratio = None


def failed_wholly(report: Report) -> bool:
    return any(result.failures is not None and result.failures.wholly for result in report.results)


def sentences_about_failures(report: Report) -> list[str]:
    """Return a sentence for each failing test and error, complete failures first."""
    levels = {result.clients for result in report.results}
    alike: dict[tuple[str, bool, str], list[Result]] = {}
    for result in report.results:
        if (failures := result.failures) is not None and fails(failures):
            label = step_label(result.test, result.clients, levels)
            alike.setdefault((label, failures.wholly, failures.state), []).append(result)
    found = sorted(alike.items(), key=lambda item: not item[0][1])
    sentences = [
        f"{sentence_about(results, label)}." for (label, *_), results in found[:MOST_LISTED]
    ]
    if (more := len(found) - MOST_LISTED) > 0:
        sentences.append(f"There are failures in {counted(more, 'more test')}.")
    return sentences


def sentences_about_failed_steps(report: Report) -> list[str]:
    names = report.short_names
    levels = levels_of(report)
    sentences = [
        f"{step_label(failed.test, failed.clients, levels)} failed on {names[failed.contender]} "
        f"in start {failed.incarnation}: {first_line(failed.reason)}."
        for failed in report.failed_steps[:MOST_LISTED]
    ]
    if (more := len(report.failed_steps) - MOST_LISTED) > 0:
        sentences.append(f"{more} more steps failed.")
    return sentences


def levels_of(report: Report) -> set[int]:
    measured = {result.clients for result in report.results}
    return measured | {failed.clients for failed in report.failed_steps}


def sentence_about(results: Sequence[Result], label: str) -> str:
    """Return 't fails on postgres@17.6: all of 1,200 operations, 22012 division by zero'."""
    failures = [each.failures for each in results if each.failures is not None]
    first = failures[0]
    names = listing([result.contender for result in results])
    failed, executions = (
        sum(each.failed for each in failures),
        sum(each.executions for each in failures),
    )
    how_many = f"all of {counted(executions, 'operation')}"
    if not first.wholly:
        how_many = (
            f"{failed:,} of {counted(executions, 'operation')} ({share(failed / executions)})"
        )
    verb = "has wrong results" if first.state == WRONG_RESULT else "fails"
    return f"{label} {verb} on {names}: {how_many}, {error_in_words(first)}"


def error_in_words(failures: Failures) -> str:
    """Write the most frequent error: '22012 division by zero'."""
    text = first_line(failures.text or "")[:_LONGEST_TEXT]
    return (
        text or failures.state
        if failures.state == WRONG_RESULT
        else f"{failures.state} {text}".rstrip()
    )
