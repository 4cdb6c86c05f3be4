"""Sentences about searches: who finds another share, and contenders where they find as much."""

from __future__ import annotations

from collections.abc import Iterator

from slowdust.analysis.model import AtRecall, Report, Result
from slowdust.analysis.recall.curves import LEVELS, finds_another_share
from slowdust.ratios import with_interval
from slowdust.wording import listing, short_names, shortened

_LEVELS = listing([f"{level:.2f}" for level in LEVELS], "or")


def sentences_about_searches(report: Report) -> list[str]:
    """Return sentences about each contender beside the base; none where nothing was searched."""
    names = short_names(report.contenders)
    of_base = {(r.test, r.clients): r for r in report.results if r.contender == report.base}
    sentences: list[str] = []
    for contender in report.contenders:
        if contender != report.base:
            name = names[contender]
            sentences += _other_answers(report, contender, of_base, name, names[report.base])
            sentences += _at_equal_recall(report, contender, name)
    return sentences


def _other_answers(
    report: Report,
    contender: str,
    of_base: dict[tuple[str, int], Result],
    name: str,
    base: str,
) -> Iterator[str]:
    """Yield a sentence where QPS of one test are of different answers."""
    apart = [
        f"{own.test} ({own.recall:.2f} beside {beside.recall:.2f})"
        for own in report.results
        if own.contender == contender
        and (beside := of_base.get((own.test, own.clients))) is not None
        and own.recall is not None
        and beside.recall is not None
        and finds_another_share(own.recall, beside.recall)
    ]
    if apart:
        yield (
            f"{name} finds another share of the neighbours than {base} in {shortened(apart)}: "
            "their QPS are of different answers, and are compared at equal recall alone."
        )


def _at_equal_recall(report: Report, contender: str, name: str) -> Iterator[str]:
    """Yield a sentence for each curve that can be compared, and one for those that cannot."""
    not_compared = []
    for comparison in report.searches:
        for curve in comparison.contenders:
            if curve.contender == contender:
                if any(at.verdict is not None for at in curve.at):
                    words = "; ".join(map(_at, curve.at))
                    yield f"{comparison.curve} at equal recall on {name}: {words}."
                else:
                    not_compared.append(comparison.curve)
    if not_compared:
        yield (
            f"{name} cannot be compared with the base at a recall of {_LEVELS} in "
            f"{shortened(not_compared)}: the table of recalls says why."
        )


def _at(at: AtRecall) -> str:
    if at.verdict is None:
        return f"not compared at {at.recall:.2f} ({at.reason})"
    rqps = "" if at.rqps is None else with_interval(at.rqps, at.low, at.high)
    return f"{at.verdict} at {at.recall:.2f} (rqps {rqps})"
