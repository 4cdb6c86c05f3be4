"""Sentences about work: how many tests do more or less of it, and what it says where time is mute.

Work is exact on any machine, so where it was counted the tl;dr begins with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from slowdust.analysis.model import Report, Result, Work
from slowdust.ratios import Amount, with_bound, work_in_words
from slowdust.units import known
from slowdust.wording import counted, short_names, step_label

MOST_DETAILED = 4
"""Contenders beside the base that get several sentences each; more get one sentence each."""
_VERDICTS: tuple[Amount, ...] = ("more", "less", "same", "unsure")
_WORDS = {"same": "the same"}


def sentences_about_work(report: Report) -> list[str]:
    """Return what the tl;dr begins with, of each of a few contenders; nothing without counts."""
    if len(report.contenders) > MOST_DETAILED + 1:
        return []
    names = short_names(report.contenders)
    levels = {result.clients for result in report.results}
    sentences = []
    for name in report.contenders[1:]:
        results = [result for result in report.results if result.contender == name]
        judged = _judged(results)
        if not judged:
            continue
        from_to = f"from {names[report.base]} to {names[name]}"
        sentences.append(
            f"Work, the instructions per operation, {from_to}: {_counts(judged, levels)}."
        )
        sentences += _beside_time(results)
    return sentences


def brief_work(results: Sequence[Result]) -> str:
    """Return '3 more, 4 the same' of the results of one contender; empty without counts."""
    works = known(result.work for result in results)
    return _tally([work for work in works if work.verdict is not None])


def _judged(results: Sequence[Result]) -> list[tuple[Result, Work]]:
    return [
        (result, result.work)
        for result in results
        if result.work is not None and result.work.verdict is not None
    ]


def _counts(judged: Sequence[tuple[Result, Work]], levels: set[int]) -> str:
    """Return '3 more (largest: scan, 5% more work), 1 less (insert, 2% less work), 4 the same'."""
    parts = []
    for verdict in _VERDICTS:
        alike = [(result, work) for result, work in judged if work.verdict == verdict]
        if not alike:
            continue
        part = f"{len(alike)} {_WORDS.get(verdict, verdict)}"
        if verdict in ("more", "less"):
            result, work = max(alike, key=lambda pair: _size(pair[1]))
            label = step_label(result.test, result.clients, levels)
            ratio = 1.0 if work.ratio is None else work.ratio.value
            far = with_bound(f"{label}, {work_in_words(ratio)}", work.bound)
            part += f" ({far if len(alike) == 1 else f'largest: {far}'})"
        parts.append(part)
    return ", ".join(parts)


def _size(work: Work) -> float:
    """Return the size of the difference that is sure, |ln| of the bound nearer 1."""
    return 0.0 if work.bound is None else abs(math.log(work.bound))


def _beside_time(results: Sequence[Result]) -> list[str]:
    """Return what work says of the tests that have no verdict in time."""
    unsure = [result for result in results if result.verdict == "unsure"]
    works = [work for _, work in _judged(unsure)]
    if not any(work.verdict != "unsure" for work in works):
        return []
    have = "has" if len(unsure) == 1 else "have"
    return [
        f"{counted(len(unsure), 'test')} {have} no verdict in time; work says: {_tally(works)}."
    ]


def _tally(works: Sequence[Work]) -> str:
    verdicts = Counter(work.verdict for work in works)
    return ", ".join(
        f"{verdicts[verdict]} {_WORDS.get(verdict, verdict)}"
        for verdict in _VERDICTS
        if verdicts[verdict]
    )
