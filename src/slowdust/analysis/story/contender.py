"""Sentences about one contender compared with the base, which follow the lines of the answer.

Of many changes they count the groups of tests and the kinds of reasons. Single runs have no answer:
their sentences count changes by size and name the largest ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from slowdust.analysis.model import Result
from slowdust.analysis.story.bands import Bands, Change
from slowdust.analysis.story.changes import MOST_CHANGES
from slowdust.analysis.story.reasons import common_reasons, reason_in_words
from slowdust.analysis.story.unsure import doubts
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import Verdict, change, distance, ratio, speed, with_bound
from slowdust.stats.verdict import DIFFERENT
from slowdust.wording import GROUP_TITLES, listing, number, shortened, step_label

MOST_EXPLAINED = 3
"""Sentences on regressions of single runs, and on improvements; one each of several contenders."""
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
        """|ln| of the bound nearer 1, or of a single run's ratio; for a ranking."""
        has_interval = self.result.ratio is not None and self.result.ratio.interval is not None
        return abs(math.log(self.result.bound or 1.0 if has_interval else self.rqps))


class ContenderComparison:
    """One contender compared with the base, in sentences."""

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
        """Whether one of the two failed before the end."""
        self.by_clients = ""
        """Clause about the numbers of clients at which it overtakes the base; empty with one."""
        self.excluded = sum(r.contender == name and r.ratio is None for r in results)

    def sentences(self) -> list[str]:
        """Return what the lines of the answer do not say; everything of single runs."""
        by_clients = self._courses()
        if self._unjudged:
            return [self.brief(), *self._largest("slower"), *self._largest("faster")]
        changed = [(pair.label, pair.result) for pair in self.pairs if pair.side in DIFFERENT]
        unsure = {pair.label: pair.result for pair in self.pairs if pair.side == "unsure"}
        return [
            *(self._groups() if len(changed) > MOST_CHANGES else []),
            *sentences_about_responses([pair.result for pair in self.pairs]),
            *by_clients,
            *(common_reasons(changed) if len(changed) > MOST_CHANGES else []),
            *doubts(unsure),
            *self._cut_short([*unsure]),
        ]

    def brief(self) -> str:
        """Return one sentence, for a summary of many contenders; of single runs with counts."""
        if not self._unjudged:
            return "".join(self._courses())
        rqps = _median_of([pair.rqps for pair in self.pairs])
        summary = f"{self.name} compared with {self.base}: {self._sizes()}; median rqps {rqps}."
        return " ".join([summary, *self._courses()])

    def _courses(self) -> list[str]:
        if not self.by_clients:
            return []
        return [f"By number of clients, {self.name} compared with {self.base}: {self.by_clients}."]

    @property
    def _unjudged(self) -> bool:
        """Whether no result has a verdict, as with single runs."""
        return all(pair.result.verdict is None for pair in self.pairs)

    def _sizes(self) -> str:
        sides = Counter(pair.side for pair in self.pairs)
        excluded = f", {self.excluded} not comparable" if self.excluded else ""
        least = f"{self.bands.change * 100:g}%"
        return (
            f"{number(sides['faster'])} faster by {least} or more, "
            f"{number(sides['same'])} within {least}, "
            f"{number(sides['slower'])} slower by {least} or more{excluded}"
        )

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

    def _cut_short(self, unsure: Sequence[str]) -> list[str]:
        if not (self.cut_short and unsure):
            return []
        return [
            f"{self.name} or {self.base} failed before these tests were decided: "
            f"{shortened(unsure)}."
        ]


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
    """Return a sentence about a single run: 'scan is 1.6X slower; server CPU is up 70%...'."""
    result = pair.result
    counted = f" in {result.unit}" if measured_in_steps(result.benchmark) else ""
    claim = f"{pair.label} is {speed(pair.rqps)}{counted}{_response(result)}"
    return f"{claim}; {reason_in_words(result, pair.base)}."


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


MOST_DETAILED = 4
"""Contenders other than the base that have several sentences each; more have one each."""
