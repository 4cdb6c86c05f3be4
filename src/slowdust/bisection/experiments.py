"""The experiments of a search: candidates side by side, on real servers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from slowdust.analysis.model import Result
from slowdust.analysis.results.failures import fails, sentence_about
from slowdust.analysis.stored import Stored, read_stored
from slowdust.bisection.ahead import BuildsAhead
from slowdust.bisection.contradiction import Direct
from slowdust.bisection.metrics import TIME, WORK
from slowdust.bisection.posterior import MeasuredRatio
from slowdust.bisection.record import STEPS, Record, Step
from slowdust.bisection.search import UnfitError
from slowdust.errors import UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.journal import StartMode
from slowdust.experiment.more import spec_with_more
from slowdust.experiment.run import run_experiment
from slowdust.experiment.setup import RefusedError, resolve_contenders
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.experiment.unattended import Watching, run_or_finish, why_not_built
from slowdust.report import html
from slowdust.store.folder import Folder, replace_file
from slowdust.store.manifest import ContenderFacts
from slowdust.units import Second
from slowdust.wording import first_line

_TO_COUNT: Second = 1.0
"""Budget of an experiment whose work alone counts."""
_COUNTING_EACH: Second = 60.0
"""Budget of counting for each candidate, unless the user sets another one for all of them."""
_SLIGHTLY_MORE = 1.001
_LEAST_ERROR = 1e-4
"""Standard error of a log ratio, at least: counts of one build differ by as much."""
_SIDES_95 = 2 * 1.96


class Experiments:
    """The experiments of a search, in the results folder `steps/` of its own folder."""

    def __init__(
        self, folder: Path, record: Record, when_busy: WhenBusy, watching: Watching
    ) -> None:
        self.results = folder / STEPS
        self._record = record
        self._when_busy = when_busy
        self._watching = watching
        self.extends = record.metric != WORK
        self.confirmed: dict[int, Stored] = {}
        """Place of a change -> the experiment that measured it beside the candidate before it."""
        self._ahead = BuildsAhead(folder / "builds-ahead.log", record.question.options.get("repo"))

    def prepare(self, places: Sequence[int]) -> None:
        """Build candidates in the background, where a compiler disturbs nothing: counts are exact.

        Nothing is built ahead of measuring time, which a compiler beside it would change.
        """
        if self._record.metric == WORK:
            listed = self._record.candidates.listed
            self._ahead.build([listed[place].contender for place in places])

    def close(self) -> None:
        """End what is being built in the background."""
        self._ahead.close()

    def measure(self, number: int, step: Step) -> Sequence[MeasuredRatio]:
        """Return the ratios between neighbours among the step's candidates."""
        folder = Folder(self.results / f"step-{number + 1:02}")
        if not folder.has_manifest():
            self._check_builds(step.places)
        self._run(self._spec(folder.name, step.places), step.places)
        if step.extensions:
            self._extend(folder, step)
        stored = read_stored(folder)
        self._check_servers(stored, step.places)
        return self._evidence(stored, step.places)

    def confirm(self, before: int, after: int, number: int) -> Direct | None:
        """Measure a change beside the candidate before it, in time and work.

        Each `number` from 1 is another experiment. Return None where it has no ratio.
        """
        listed = self._record.candidates.listed
        again = "" if number == 1 else f"-{number}"
        name = f"change-{listed[after].name}-beside-{listed[before].name}{again}"
        folder = Folder.of(self.results, name)
        options = self._record.question.options
        self._run(self._spec_of(folder.name, [before, after], options), [before, after])
        stored = read_stored(folder)
        self._check_servers(stored, [before, after])
        self.confirmed[after] = stored
        page = html.render(stored.report(), stored.slices, stored.profiles)
        replace_file(folder.path / "report.html", page.encode())
        measured = self._evidence(stored, [before, after])
        if not measured:
            return None
        timed = self._record.metric == TIME
        work = self._evidence(stored, [before, after], WORK) if timed else []
        return Direct(
            measured[0].log_ratio,
            measured[0].error,
            (work[0].log_ratio, work[0].error) if work else None,
        )

    def _spec(self, name: str, places: Sequence[int]) -> Spec:
        options = dict(self._record.question.options)
        if self.extends:
            return self._spec_of(name, places, {**options, "count": "off"})
        only_work = {"budget": _TO_COUNT, "incarnations": 1}
        return self._spec_of(name, places, {**options, **only_work})

    def _spec_of(self, name: str, places: Sequence[int], options: Mapping[str, object]) -> Spec:
        contenders = [self._record.candidates.listed[place].contender for place in places]
        counting = _COUNTING_EACH * len(places)
        return spec_from_options(contenders, {"count_budget": counting, **options, "name": name})

    def _run(self, spec: Spec, places: Sequence[int]) -> None:
        """Run an experiment of these places, or what is left of it; nothing where it is finished.

        Raises UnfitError for a candidate whose server refuses the settings.
        """
        try:
            run_or_finish(spec, self.results, self._when_busy, self._watching)
        except UsageError as error:
            # Where an option has the setting, the error names the option around it.
            refused = error if isinstance(error, RefusedError) else error.__cause__
            if not isinstance(refused, RefusedError):
                raise
            with self._watching() as view:
                names = [each.name for each in resolve_contenders(spec, view)]
            place = places[names.index(refused.contender)]
            raise UnfitError(place, refused.reason) from error

    def _extend(self, folder: Folder, step: Step) -> None:
        """Measure an experiment on until it has been extended as often as is wanted."""
        stored, spec = read_stored(folder), read_spec(folder.spec_file)
        # As long again as all before it: the budget tells whether that was begun already.
        extra = self._spec(folder.name, step.places).budget * 2 ** (step.extensions - 1)
        if spec.budget > extra * _SLIGHTLY_MORE:
            return
        tests = stored.manifest.tests
        longer = spec_with_more(spec, stored.manifest, stored.slices, tests, extra)
        with self._watching() as view:
            run_experiment(longer, self.results, StartMode.RESUME, view, self._when_busy)

    def _check_builds(self, places: Sequence[int]) -> None:
        """Fetch or compile the builds; raise UnfitError for the first that cannot be had.

        What fails for all of them, as a disk or a network, is raised as it is.
        """
        for place in places:
            if error := why_not_built(self._spec("build", [place]), self._watching):
                raise UnfitError(place, first_line(str(error))) from error

    def _check_servers(self, stored: Stored, places: Sequence[int]) -> None:
        """Raise UnfitError for the first candidate whose server did not run to the end."""
        for place, facts in self._facts(stored, places):
            if facts.failed:
                raise UnfitError(place, first_line(facts.failed))
            for result in stored.report().results:
                if result.contender == facts.name and fails(result.failures):
                    raise UnfitError(place, sentence_about([result], result.test))

    def _facts(self, stored: Stored, places: Sequence[int]) -> list[tuple[int, ContenderFacts]]:
        """Return the contenders of an experiment that are at these places, with the places."""
        listed = self._record.candidates.listed
        written = {listed[place].contender: place for place in places}
        spec = read_spec(Folder.of(self.results, stored.name).spec_file)
        names = [contender.contender for contender in spec.contenders]
        pairs = zip(names, stored.manifest.contenders, strict=True)
        return [(written[name], facts) for name, facts in pairs if name in written]

    def _evidence(
        self, stored: Stored, places: Sequence[int], metric: str | None = None
    ) -> list[MeasuredRatio]:
        """Return the ratios of neighbours in a metric, by default in the one that decides."""
        facts = self._facts(stored, places)
        evidence = []
        for (before, base), (after, other) in pairwise(facts):
            report = stored.report(base=base.name)
            results = [result for result in report.results if result.contender == other.name]
            evidence += [
                MeasuredRatio(before, after, *log_ratio)
                for result in results
                if (log_ratio := log_ratio_of(result, metric or self._record.metric)) is not None
            ]
        return evidence


def log_ratio_of(result: Result, metric: str) -> tuple[float, float] | None:
    """Return the logarithm of a result's cost relative to the base's, and its standard error.

    None where it has no ratio with an interval in this metric.
    """
    if metric == WORK:
        work = result.work
        found = None if work is None else (work.ratio, work.low, work.high)
    elif metric == TIME:
        found = (result.judged_rqps, *(result.judged_interval or (None, None)))
    else:
        compared = result.compared.get(metric)
        found = None if compared is None else (compared.ratio, compared.low, compared.high)
    if found is None:
        return None
    ratio, low, high = found
    if not ratio or not low or not high:
        return None
    sign = -1 if metric == TIME else 1
    return sign * math.log(ratio), max(math.log(high / low) / _SIDES_95, _LEAST_ERROR)
