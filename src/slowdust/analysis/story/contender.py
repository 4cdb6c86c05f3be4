"""Sentences about one contender beside the base: what its verdicts mean.

First how many tests got faster and slower, then each group of tests, then the largest changes
with their likely cause, then the limits of all of this. The words claim no more than the numbers: a
cause is named only where hardware per operation moved along, and an unsure test is called unsure.
Differences are told and ranked by the bound of the interval that is nearer 1: a noisy 20% does not
come before a sure 8%.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from slowdust.analysis.evidence import leading
from slowdust.analysis.model import Report, Result, Work
from slowdust.analysis.results.notes import BUSY_CLIENT
from slowdust.analysis.story.bands import Bands, Change
from slowdust.analysis.story.reasons import (
    UNEXPLAINED,
    Movement,
    common_reasons,
    exact_reason,
    explain,
    settings_in_words,
)
from slowdust.analysis.story.unsure import sentence_about_unsure
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import (
    Amount,
    Verdict,
    change,
    distance,
    instructions,
    ratio,
    speed,
    with_bound,
    with_interval,
    work_in_words,
)
from slowdust.stats.verdict import DIFFERENT
from slowdust.units import known
from slowdust.wording import (
    GROUP_TITLES,
    beyond_margin,
    counted,
    listing,
    number,
    operation,
    short_names,
    shortened,
    step_label,
)

MOST_EXPLAINED = 3
"""Regressions, and improvements, with a sentence of their own; one each in a shared tl;dr."""
ENOUGH_INCARNATIONS = 6
"""Incarnations of long steps; with fewer, more are proposed if nothing was decided."""
FEWEST_SUMMARISED = 3
"""Fewest results whose median gets a sentence."""

_VERDICTS: tuple[tuple[Verdict, str], ...] = (
    ("faster", "faster"),
    ("same", "the same"),
    ("slower", "slower"),
    ("unsure", "unsure"),
)


@dataclass(frozen=True)
class _Pair:
    """A result and the base's result of the same step."""

    result: Result
    base: Result
    label: str
    """Name of the test in sentences."""
    bands: Bands

    @property
    def rqps(self) -> float:
        """Relative throughput that the verdict is about; every compared result has it."""
        assert self.result.ratio is not None
        return self.result.ratio.value

    @property
    def side(self) -> Verdict:
        """The verdict; for a single run, which has none, the side that its band is on."""
        if self.result.verdict is not None:
            return self.result.verdict
        if self.bands.of(self.rqps) is Change.NONE:
            return "same"
        return "faster" if self.rqps > 1 else "slower"

    @property
    def size(self) -> float:
        """Size of the difference that is sure, |ln| of the bound nearer 1; for a ranking."""
        has_interval = self.result.ratio is not None and self.result.ratio.interval is not None
        return abs(math.log(self.result.bound or 1.0 if has_interval else self.rqps))


class ContenderComparison:
    """One contender beside the base, in sentences."""

    def __init__(
        self,
        results: Sequence[Result],
        base: str,
        name: str,
        names: Mapping[str, str],
        *,
        experiment: str,
        bands: Bands,
        margin: float,
    ) -> None:
        bases = {(r.benchmark, r.test, r.clients): r for r in results if r.contender == base}
        levels: dict[str, set[int]] = {}
        for result in results:
            levels.setdefault(result.test, set()).add(result.clients)
        self.base, self.name, self.bands = names[base], names[name], bands
        self.experiment, self.margin = experiment, margin
        self.pairs = [
            _Pair(
                result=result,
                base=bases[result.benchmark, result.test, result.clients],
                label=step_label(result.test, result.clients, levels[result.test]),
                bands=bands,
            )
            for result in results
            if result.contender == name and result.ratio is not None
        ]
        self.most_explained = MOST_EXPLAINED if len(names) == 2 else 1
        self.cut_short = False
        """Whether one of the two dropped out."""
        self.by_clients = ""
        """Clause about the numbers of clients at which it overtakes the base; empty with one."""
        self.left_out = sum(r.contender == name and r.ratio is None for r in results)

    def sentences(self) -> list[str]:
        return [
            self._counts(),
            *self._median(),
            *sentences_about_responses([pair.result for pair in self.pairs]),
            *([] if self._unjudged else self._groups()),
            *([f"By number of clients: {self.by_clients}."] if self.by_clients else []),
            *self._largest("slower"),
            *self._largest("faster"),
            *common_reasons([(p.label, p.result) for p in self.pairs if p.side in DIFFERENT]),
            *self._unsure(),
            *limits_of(self.pairs),
        ]

    def brief(self) -> str:
        """Return one sentence, for a tl;dr that many contenders share."""
        by_clients = f" By number of clients: {self.by_clients}." if self.by_clients else ""
        rqps = _median_of([pair.rqps for pair in self.pairs])
        counted = brief_work([pair.result for pair in self.pairs])
        work = f"; work: {counted}" if counted else ""
        summary = f"{self.name}: {self._verdicts()}; median rqps {rqps}{work}."
        return summary + by_clients

    def _counts(self) -> str:
        without = " no verdict is possible" if self._unjudged else ""
        return f"From {self.base} to {self.name}{without}: {self._verdicts()}."

    @property
    def _unjudged(self) -> bool:
        """Whether no result has a verdict, as those of single runs."""
        return all(pair.result.verdict is None for pair in self.pairs)

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
            f"{number(verdicts['faster'])} faster{self._sizes('faster')}, "
            f"{number(verdicts['same'])} the same, "
            f"{number(verdicts['slower'])} slower{self._sizes('slower')}, "
            f"{number(verdicts['unsure'])} unsure{left_out}"
        )

    def _sizes(self, verdict: Verdict) -> str:
        """Return ' (2 by more than 3%, 1 perhaps by less)' of those with a verdict."""
        changed = [pair for pair in self.pairs if pair.side == verdict]
        beyond = sum(bool(p.result.ratio and p.result.ratio.lies_beyond_margin) for p in changed)
        return f" ({beyond_margin(beyond, len(changed), self.margin)})" if changed else ""

    def _median(self) -> list[str]:
        if len(self.pairs) < FEWEST_SUMMARISED:
            return []
        rqps = _median_of([pair.rqps for pair in self.pairs])
        return [f"The median rqps over {len(self.pairs)} results is {rqps}."]

    def _groups(self) -> list[str]:
        groups: dict[str, list[_Pair]] = {group: [] for group in GROUP_TITLES}
        for pair in self.pairs:
            groups.setdefault(pair.result.group, []).append(pair)
        present = {group: pairs for group, pairs in groups.items() if pairs}
        if len(present) < 2:
            return []
        return [
            f"{_group_title(group, pairs)}: {_group_summary(pairs)}."
            for group, pairs in present.items()
        ]

    def _largest(self, verdict: Verdict) -> list[str]:
        changed = [pair for pair in self.pairs if pair.side == verdict]
        changed.sort(key=lambda pair: pair.size, reverse=True)
        return [_sentence_about_change(pair) for pair in changed[: self.most_explained]]

    def _unsure(self) -> list[str]:
        unsure = {pair.label: pair.result for pair in self.pairs if pair.side == "unsure"}
        if not unsure:
            return []
        if self.cut_short:
            return [f"Unsure, one of the two dropped out: {shortened([*unsure])}."]
        in_steps = any(measured_in_steps(pair.result.benchmark) for pair in self.pairs)
        sentence = sentence_about_unsure(self.experiment, unsure)
        return [sentence + (self._remedy() if in_steps else "")]

    def _remedy(self) -> str:
        """Return advice if too few incarnations of long steps decided nothing at all."""
        fewest = min(pair.result.incarnations for pair in self.pairs)
        if fewest >= ENOUGH_INCARNATIONS or any(p.result.verdict != "unsure" for p in self.pairs):
            return ""
        decide = (
            "1 incarnation decides nothing"
            if fewest == 1
            else f"{fewest} incarnations decide only large differences"
        )
        return (
            f" {decide}: {ENOUGH_INCARNATIONS} narrow the intervals, "
            "and so may longer steps (--rows and --seconds)."
        )


def limits_of(pairs: Sequence[_Pair]) -> list[str]:
    limited = dict.fromkeys(
        pair.label
        for pair in pairs
        if any(
            busy > BUSY_CLIENT
            for busy in known((pair.result.client_busiest_thread, pair.base.client_busiest_thread))
        )
    )
    silent = dict.fromkeys(
        (side.contender, number, pair.label)
        for pair in pairs
        for side in (pair.result, pair.base)
        for number in side.silent_incarnations
    )
    failing = dict.fromkeys(pair.label for pair in pairs if pair.result.errors or pair.base.errors)
    sentences = []
    if silent:
        places = [f"{name} in incarnation {number} of {label}" for name, number, label in silent]
        sentences.append(f"Nothing was done by {shortened(places)}.")
    if limited:
        sentences.append(f"The client, not the server, was the limit: {shortened([*limited])}.")
    if failing:
        sentences.append(f"There were errors: {shortened([*failing])}.")
    return sentences


def _group_title(group: str, pairs: Sequence[_Pair]) -> str:
    """Return the title, with what the rates of long steps count: 'Writes (inserts/s)'."""
    title = GROUP_TITLES.get(group, group)
    units = dict.fromkeys(p.result.unit for p in pairs if measured_in_steps(p.result.benchmark))
    return f"{title} ({listing([*units])})" if units else title


def _group_summary(pairs: Sequence[_Pair]) -> str:
    """Return '2 faster (largest: scan, 12%, at least 9%), 1 slower (hot-points, 5%, ...)'."""
    parts = []
    for verdict, word in _VERDICTS:
        same = [pair for pair in pairs if pair.result.verdict == verdict]
        if not same:
            continue
        part = f"{len(same)} {word}"
        if verdict in DIFFERENT:
            most = max(same, key=lambda pair: pair.size)
            far = with_bound(f"{most.label}, {distance(most.rqps)}", most.result.bound)
            part += f" ({far if len(same) == 1 else f'largest: {far}'})"
        parts.append(part)
    return ", ".join(parts)


def _sentence_about_change(pair: _Pair) -> str:
    result = pair.result
    exact = ""
    if result.ratio is not None and result.ratio.interval is not None:
        exact = f" (rqps {with_interval(result.ratio)})"
    counted = f" in {result.unit}" if measured_in_steps(result.benchmark) else ""
    difference = with_bound(f"{speed(pair.rqps)}{counted}", result.bound)
    claim = f"{pair.label} is {difference}{exact}{_response(result)}"
    if (typical := result.typical_beside) is not None:
        stalled = "stalls" if pair.rqps < typical else "the base stalls"
        claim += f"; typical {ratio(typical)}, all time {ratio(pair.rqps)}: {stalled}"
    if result.has_stalls:
        exact = exact_reason(result)
        return f"{claim}; {exact}." if exact else f"{claim}."
    explanation = result.explanation
    words = explanation.words if explanation else _reason(result, pair.base)
    return f"{claim}; {words}."


def _response(result: Result) -> str:
    if result.response_time is None or result.response_time.relative is None:
        return ""
    return f", its mean response time {change(result.response_time.relative.value)}"


def sentences_about_responses(results: Sequence[Result]) -> list[str]:
    """Return the median of the relative mean response times, if results have them."""
    times = [result.response_time for result in results if result.response_time]
    ratios = [time.relative.value for time in times if time.relative is not None]
    if not ratios:
        return []
    return [f"The mean response time / the base's has a median of {_median_of(ratios)}."]


def _median_of(ratios: Sequence[float]) -> str:
    """Return '1.02, from 0.95 to 1.10'; only the median where there is one ratio."""
    spread = f", from {ratio(min(ratios))} to {ratio(max(ratios))}" if len(ratios) > 1 else ""
    return f"{ratio(median(ratios))}{spread}"


def _reason(result: Result, base: Result) -> str:
    """Return why a result without parts of its time changed; exact evidence comes first."""
    if exact := exact_reason(result):
        return exact
    settings = settings_in_words(result.evidence)
    moved = _moved(result, base)
    return "; ".join(words for words in (settings, moved) if words) or UNEXPLAINED


def _moved(result: Result, base: Result) -> str:
    """Return the work and the hardware per operation that moved with a result's throughput."""
    movements = explain(result, base)
    agreeing = "more" if result.verdict == "slower" else "less"
    if result.work is None or result.work.verdict != agreeing:
        return _evidence(movements, result) if movements else ""
    ratio_of_work = 1.0 if result.work.ratio is None else result.work.ratio.value
    work = f"{instructions(ratio_of_work)} per {operation(result.unit)}"
    if movements and movements[0].proves_cause:
        return f"{work}, and {_evidence(movements, result)}"
    along = listing([f"{each.metric} {change(each.ratio)}" for each in movements])
    return f"{work}{f' ({along})' if along else ''}"


def _evidence(movements: Sequence[Movement], result: Result) -> str:
    """Return 'context switches per insert are up 30%, which points to more contention'."""
    first, *others = movements
    verb = "are" if first.metric.startswith(("context", "KB")) else "is"
    moved = f"{first.metric} {verb} {change(first.ratio)}"
    if not first.proves_cause:
        beside = ", which on a shared machine proves no cause"
        return f"{moved} with it{'' if leading(result.evidence) else beside}"
    cause = f"{'more' if first.ratio > 1 else 'less'} {first.cause.value}"
    if first.partial:
        return f"{moved}: {cause} may be a part of it, the rest is not explained"
    along = listing([f"{other.metric} {change(other.ratio)}" for other in others])
    return f"{moved}{f' ({along})' if along else ''}, which points to {cause}"


MOST_DETAILED = 4
"""Contenders beside the base that get several sentences each; more get one sentence each."""
_AMOUNTS: tuple[Amount, ...] = ("more", "less", "same", "unsure")
_AMOUNT_WORDS = {"same": "the same"}


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
    for verdict in _AMOUNTS:
        alike = [(result, work) for result, work in judged if work.verdict == verdict]
        if not alike:
            continue
        part = f"{len(alike)} {_AMOUNT_WORDS.get(verdict, verdict)}"
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
        f"{verdicts[verdict]} {_AMOUNT_WORDS.get(verdict, verdict)}"
        for verdict in _AMOUNTS
        if verdicts[verdict]
    )
