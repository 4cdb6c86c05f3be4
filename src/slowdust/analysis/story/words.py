"""The tl;dr: what the verdicts mean, in sentences.

First how many tests got faster and slower, then each group of tests, then the largest changes
with their likely cause, then what limits all of this. Words stay behind the numbers: a cause is
named only where hardware per operation moved along, and an unsure test is called unsure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from slowdust.analysis.comparison.verdict import DIFFERENT
from slowdust.analysis.model import Result, TestConcurrency, Verdict
from slowdust.analysis.results.notes import BUSY_CLIENT, OPEN_LOOP, PLAN_DIFFERS
from slowdust.analysis.story.bands import USUAL, Bands, Change
from slowdust.analysis.story.concurrency import summarise
from slowdust.analysis.story.explain import Explanation, explain
from slowdust.benchmarks import measured_in_steps
from slowdust.units import known
from slowdust.wording import (
    GROUP_TITLES,
    change,
    distance,
    first_line,
    listing,
    number,
    short_names,
    shortened,
    speed,
    step_label,
)

MOST_EXPLAINED = 3
"""Regressions, and improvements, that get a sentence of their own; one each when several
contenders share the tl;dr."""
MOST_TOLD = 4
"""Contenders beside the base with a story each; of more, one sentence each."""
ENOUGH_INCARNATIONS = 6
"""Of long steps; with fewer, more are proposed to whom nothing was decided."""
FEWEST_SUMMARISED = 3
"""Tests from which a median is worth a sentence."""

_VERDICTS: tuple[tuple[Verdict, str], ...] = (
    ("faster", "faster"),
    ("same", "the same"),
    ("slower", "slower"),
    ("unsure", "unsure"),
)


def tell(
    results: Sequence[Result],
    contenders: Sequence[str],
    failures: Mapping[str, str],
    concurrency: Sequence[TestConcurrency] = (),
    bands: Bands = USUAL,
) -> list[str]:
    """Sentences about each contender other than the base, which is `contenders[0]`.

    `failures` is contender -> why it dropped out; results without a verdict are counted in `bands`.
    """
    names = short_names(contenders)
    base = contenders[0]
    sentences = [f"{names[name]} failed: {first_line(why)}." for name, why in failures.items()]
    if not any(result.contender == base for result in results):
        return [*sentences, f"Nothing can be compared: {names[base]}, the base, has no results."]
    if len(contenders) == 1:
        return [*sentences, f"Only {names[base]} was measured: there is nothing to compare."]
    several = len(contenders) > MOST_TOLD + 1
    stories = []
    if several:
        sentences.append(f"{len(contenders) - 1} contenders beside {names[base]}, the base.")
    for name in contenders[1:]:
        story = _Story(results, base, name, names, bands)
        story.cut_short = name in failures or base in failures
        story.by_clients = summarise(
            (one.test, course)
            for one in concurrency
            for course in one.courses
            if course.contender == name
        )
        if story.pairs:
            sentences += [story.brief()] if several else story.sentences()
            stories.append(story)
        elif any(r.contender == name and OPEN_LOOP in r.notes for r in results):
            sentences.append(f"{names[name]}: {OPEN_LOOP}.")
            sentences += _responses([r for r in results if r.contender == name])
        elif name not in failures:
            sentences.append(f"{names[name]} has no result that can be compared.")
    return [*sentences, *_cautions_of_all(stories)] if several else sentences


@dataclass(frozen=True)
class _Pair:
    """A result and that of the base."""

    ours: Result
    base: Result
    label: str
    """How sentences call the test."""
    bands: Bands

    @property
    def rqps(self) -> float:
        assert self.ours.rqps is not None
        return self.ours.rqps

    @property
    def side(self) -> Verdict:
        """The verdict; of one archived run, which has none, the side of the band that it is in."""
        if self.ours.verdict is not None:
            return self.ours.verdict
        if self.bands.of(self.rqps) is Change.NONE:
            return "same"
        return "faster" if self.rqps > 1 else "slower"


class _Story:
    """The sentences about one contender."""

    def __init__(
        self,
        results: Sequence[Result],
        base: str,
        name: str,
        names: Mapping[str, str],
        bands: Bands,
    ) -> None:
        bases = {(r.benchmark, r.test, r.clients): r for r in results if r.contender == base}
        levels: dict[str, set[int]] = {}
        for result in results:
            levels.setdefault(result.test, set()).add(result.clients)
        self.base, self.name, self.bands = names[base], names[name], bands
        self.pairs = [
            _Pair(
                ours=result,
                base=bases[result.benchmark, result.test, result.clients],
                label=step_label(result.test, result.clients, levels[result.test]),
                bands=bands,
            )
            for result in results
            if result.contender == name and result.rqps is not None
        ]
        self.most_explained = MOST_EXPLAINED if len(names) == 2 else 1
        self.cut_short = False
        """One of the two dropped out."""
        self.by_clients = ""
        """At which numbers of clients it overtakes the base; empty with one number."""
        self.left_out = sum(r.contender == name and r.rqps is None for r in results)

    def sentences(self) -> list[str]:
        """All of them, the most important first."""
        return [
            self._counts(),
            *self._median(),
            *_responses([pair.ours for pair in self.pairs]),
            *([] if self._unjudged else self._groups()),
            *([f"By number of clients: {self.by_clients}."] if self.by_clients else []),
            *self._largest("slower"),
            *self._largest("faster"),
            *self._unsure(),
            *_cautions(self.pairs),
        ]

    def brief(self) -> str:
        """One sentence, where many contenders share the tl;dr; cautions are said once for all."""
        ratios = sorted(pair.rqps for pair in self.pairs)
        spread = f", from {ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else ""
        by_clients = f" By number of clients: {self.by_clients}." if self.by_clients else ""
        summary = f"{self.name}: {self._verdicts()}; median rqps {median(ratios):.2f}{spread}."
        return summary + by_clients

    def _counts(self) -> str:
        without = " no verdict is possible" if self._unjudged else ""
        return f"From {self.base} to {self.name}{without}: {self._verdicts()}."

    @property
    def _unjudged(self) -> bool:
        """Whether these are archived runs."""
        return all(pair.ours.verdict is None for pair in self.pairs)

    def _verdicts(self) -> str:
        verdicts = Counter(pair.side for pair in self.pairs)
        left_out = f", {self.left_out} not comparable" if self.left_out else ""
        if self._unjudged:
            least = f"{self.bands.change * 100:g}%"
            return (
                f"{number(verdicts['faster'])} faster by {least} or more, "
                f"{number(verdicts['same'])} within {least}, "
                f"{number(verdicts['slower'])} slower by {least} or more{left_out}"
            )
        return (
            f"{number(verdicts['faster'])} faster, "
            f"{number(verdicts['same'])} the same, {number(verdicts['slower'])} slower, "
            f"{number(verdicts['unsure'])} unsure{left_out}"
        )

    def _median(self) -> list[str]:
        if len(self.pairs) < FEWEST_SUMMARISED:
            return []
        ratios = sorted(pair.rqps for pair in self.pairs)
        return [
            f"The median rqps over {len(ratios)} results is {median(ratios):.2f}, "
            f"from {ratios[0]:.2f} to {ratios[-1]:.2f}."
        ]

    def _groups(self) -> list[str]:
        groups: dict[str, list[_Pair]] = {group: [] for group in GROUP_TITLES}
        for pair in self.pairs:
            groups.setdefault(pair.ours.group, []).append(pair)
        found = {group: pairs for group, pairs in groups.items() if pairs}
        if len(found) < 2:
            return []
        return [
            f"{_group_title(group, pairs)}: {_group_summary(pairs)}."
            for group, pairs in found.items()
        ]

    def _largest(self, verdict: Verdict) -> list[str]:
        changed = [pair for pair in self.pairs if pair.side == verdict]
        changed.sort(key=lambda pair: pair.rqps, reverse=verdict == "faster")
        return [_one_change(pair) for pair in changed[: self.most_explained]]

    def _unsure(self) -> list[str]:
        unsure = [pair.label for pair in self.pairs if pair.ours.verdict == "unsure"]
        if not unsure:
            return []
        in_steps = any(measured_in_steps(pair.ours.benchmark) for pair in self.pairs)
        more = "incarnations" if in_steps else "slices"
        why = "one of the two dropped out" if self.cut_short else f"more {more} would tell"
        remedy = self._remedy() if in_steps and not self.cut_short else ""
        return [f"Unsure, {why}: {shortened(unsure)}.{remedy}"]

    def _remedy(self) -> str:
        """What to do where so few incarnations of long steps decided nothing at all."""
        fewest = min(pair.ours.incarnations for pair in self.pairs)
        if fewest >= ENOUGH_INCARNATIONS or any(p.ours.verdict != "unsure" for p in self.pairs):
            return ""
        decide = (
            "1 incarnation decides nothing"
            if fewest == 1
            else f"{fewest} incarnations decide only large differences"
        )
        return (
            f" {decide}: --incarnations {ENOUGH_INCARNATIONS} narrows the intervals, "
            "and so may longer steps (--rows and --seconds)."
        )


def _cautions_of_all(stories: Sequence[_Story]) -> list[str]:
    """What limits many contenders' results, which are told in one sentence each."""
    cut_short = [story.name for story in stories if story.cut_short]
    sentences = _cautions([pair for story in stories for pair in story.pairs])
    if cut_short:
        sentences.append(
            f"Cut short, because the contender or the base dropped out: {shortened(cut_short)}."
        )
    return sentences


def _cautions(pairs: Sequence[_Pair]) -> list[str]:
    """What limits the results, each test named once."""
    limited = dict.fromkeys(
        pair.label
        for pair in pairs
        if any(
            busy > BUSY_CLIENT
            for busy in known((pair.ours.client_busiest_thread, pair.base.client_busiest_thread))
        )
    )
    failing = dict.fromkeys(pair.label for pair in pairs if pair.ours.errors or pair.base.errors)
    sentences = []
    if limited:
        sentences.append(f"The client, not the server, was the limit: {shortened([*limited])}.")
    if failing:
        sentences.append(f"There were errors: {shortened([*failing])}.")
    return sentences


def _group_title(group: str, pairs: Sequence[_Pair]) -> str:
    """With what the rates of long steps count: 'Writes (inserts/s)'."""
    title = GROUP_TITLES.get(group, group)
    units = dict.fromkeys(p.ours.unit for p in pairs if measured_in_steps(p.ours.benchmark))
    return f"{title} ({listing([*units])})" if units else title


def _group_summary(pairs: Sequence[_Pair]) -> str:
    """'2 faster (up to 12%: hot-points), 1 slower (scan by 5%), 1 the same'."""
    parts = []
    for verdict, word in _VERDICTS:
        found = [pair for pair in pairs if pair.ours.verdict == verdict]
        if not found:
            continue
        part = f"{len(found)} {word}"
        if verdict in DIFFERENT:
            most = max(found, key=lambda pair: abs(pair.rqps - 1))
            far = distance(most.rqps)
            single = f"{most.label}, {far}"
            part += f" ({single if len(found) == 1 else f'up to {far}: {most.label}'})"
        parts.append(part)
    return ", ".join(parts)


def _one_change(pair: _Pair) -> str:
    ours = pair.ours
    interval = (
        "" if ours.low is None else f" (rqps {pair.rqps:.2f} [{ours.low:.2f}, {ours.high:.2f}])"
    )
    counted = f" in {ours.unit}" if measured_in_steps(ours.benchmark) else ""
    claim = f"{pair.label} is {speed(pair.rqps)}{counted}{interval}{_response(ours)}"
    if PLAN_DIFFERS in ours.notes:
        return f"{claim}; its plan differs, so this compares plans, not code."
    return f"{claim}; {_reason(explain(ours, pair.base))}."


def _response(result: Result) -> str:
    if result.response_time is None or result.response_time.relative is None:
        return ""
    return f", its mean response time {change(result.response_time.relative)}"


def _responses(results: Sequence[Result]) -> list[str]:
    """What their mean response times come to, where they are told in them."""
    times = [result.response_time for result in results if result.response_time]
    ratios = sorted(time.relative for time in times if time.relative is not None)
    if not ratios:
        return []
    spread = f", from {ratios[0]:.2f} to {ratios[-1]:.2f}" if len(ratios) > 1 else ""
    return [f"The mean response time / the base's has a median of {median(ratios):.2f}{spread}."]


def _reason(explanations: Sequence[Explanation]) -> str:
    if not explanations:
        return "nothing measured here explains it"
    first, *others = explanations
    moved = f"{first.metric} {_is(first)} {change(first.ratio)}"
    cause = f"{'more' if first.ratio > 1 else 'less'} {first.cause.value}"
    if first.partial:
        return f"{moved}: {cause} may be a part of it, the rest is not explained"
    along = listing([f"{other.metric} {change(other.ratio)}" for other in others])
    return f"{moved}{f' ({along})' if along else ''}, which points to {cause}"


def _is(explanation: Explanation) -> str:
    return "are" if explanation.metric.startswith(("context", "KB")) else "is"
