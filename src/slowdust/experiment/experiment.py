"""An experiment: a specification, its folder, and everything measured so far.

Only `Experiment` owns a folder, whether the experiment was measured on this host or by a fleet,
imported, merged, or unpacked from a bundle. A `Lab` measures it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from slowdust.analysis.model import Report
from slowdust.analysis.results.log_ratio import LogRatio, log_ratio_of
from slowdust.analysis.stored import Stored, read_stored
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.errors import HostError, SlowdustError, UsageError
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.journal import StartMode
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import Spec, read_spec
from slowdust.report import html
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.storage import replace_file
from slowdust.units import Second

PAGE_FILE = "report.html"
_PER_START: Second = 10.0
"""Shortest measuring time that is worth a start of the servers: loading takes about as long."""


class Lab(Protocol):
    """Where experiments are measured: this host, the hosts of a fleet, or a test's simulation."""

    def prepare(self, spec: Spec) -> list[ResolvedContender]:
        """Get the builds of a specification; return its contenders in order, with their names.

        Raises:
            UsageError: a contender or an option is wrong.
            SlowdustError: a build is not available.
        """
        ...

    def measure(self, experiment: Experiment) -> None:
        """Measure `experiment.spec` into `experiment.folder`, or the rest of it.

        With `StartMode.FRESH` as `experiment.mode` the folder must not contain an experiment. If
        the time runs out, the manifest has no `finished`.

        Raises:
            UsageError: the specification cannot be run, or differs from the stored one.
            SlowdustError: measuring failed; the measurements so far are kept.
        """
        ...

    def phase(self, text: str) -> None: ...


class Experiment:
    """An experiment in its folder, to be measured, extended, judged and shown."""

    def __init__(self, folder: Folder, spec: Spec | None, mode: StartMode) -> None:
        self.folder = folder
        self.mode = mode
        self._spec = spec
        self._stored: Stored | None = None

    @classmethod
    def create(cls, spec: Spec, results: Path) -> Experiment:
        """Return a new experiment; its name must be free when it is run."""
        return cls(Folder.of(results, spec.name), spec, StartMode.FRESH)

    @classmethod
    def open(cls, folder: Folder) -> Experiment:
        return cls(folder, None, StartMode.RESUME)

    @classmethod
    def create_or_open(cls, spec: Spec, results: Path) -> Experiment:
        """Return the experiment with the name of a specification, stored or new."""
        folder = Folder.of(results, spec.name)
        return cls.open(folder) if folder.has_manifest() else cls.create(spec, results)

    def with_spec(self, spec: Spec) -> Experiment:
        """Return the same experiment, to be continued with another specification."""
        return Experiment(self.folder, spec, self.mode)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def results(self) -> Path:
        return self.folder.path.parent

    @property
    def spec(self) -> Spec:
        """The specification.

        Raises:
            UsageError: the experiment has no specification, for example an imported one.
        """
        if self._spec is None:
            return read_spec(self.folder.spec_file)
        return self._spec

    @property
    def stored(self) -> Stored:
        """All records, read once and again after measuring; see `read_stored` for errors."""
        if self._stored is None:
            self._stored = read_stored(self.folder)
        return self._stored

    @property
    def has_begun(self) -> bool:
        return self.folder.has_manifest()

    def run(self, lab: Lab) -> None:
        """Measure the experiment, or the rest of it; do nothing if it is finished.

        Raises:
            SlowdustError: as `Lab.measure` does.
        """
        if self._spec is None and self.stored.manifest.finished is not None:
            return
        try:
            lab.measure(self)
        finally:
            self._stored = None
        self._spec, self.mode = None, StartMode.RESUME

    def extend(self, lab: Lab, tests: Collection[str], seconds: Second) -> None:
        """Continue to measure `tests` for `seconds` more."""
        self._spec = self.longer(tests, seconds)
        self.run(lab)

    def longer(self, tests: Collection[str], seconds: Second) -> Spec:
        """Return the specification that continues to measure `tests` for `seconds` more."""
        return spec_with_more(self.spec, self.stored.manifest, self.stored.slices, tests, seconds)

    def report(self, base: str | None = None) -> Report:
        """Return the report, by default relative to the first contender."""
        return self.stored.report(base)

    def log_ratios(self, contender: str, base: str, metric: str) -> dict[tuple[str, int], LogRatio]:
        """Return (test, clients) -> ln(cost of a contender / cost of the base).

        Tests without such a ratio are absent.
        """
        return {
            (result.test, result.clients): ratio
            for result in self.report(base).results
            if result.contender == contender and (ratio := log_ratio_of(result, metric)) is not None
        }

    def write_page(self) -> Path:
        page = self.folder.path / PAGE_FILE
        stored = self.stored
        text = html.render(stored.report(), stored.slices, stored.profiles)
        replace_file(page, text.encode())
        return page


def build_error(lab: Lab, spec: Spec) -> SlowdustError | None:
    """Get the builds of a specification; return why one of them is not available.

    Raises:
        SlowdustError: a failure that would affect every build: disk, network, no compiler.
    """
    try:
        lab.prepare(spec)
    except (SourceUnavailable, HostError):
        raise
    except SlowdustError as error:
        if isinstance(error.__cause__, OSError):
            raise
        return error
    return None


def spec_with_more(
    spec: Spec,
    manifest: Manifest,
    slices: Collection[Slice],
    tests: Collection[str],
    extra: Second,
) -> Spec:
    """Return the specification that continues to measure `tests` for `extra` seconds more.

    With slices, turns stay about as long as before, so that the time is spread over starts of the
    servers at the same rate as before. A start gets at least `_PER_START`.

    Raises:
        UsageError: the experiment has no such test.
    """
    method, spent, planned = manifest.method, manifest.spent_s, 0
    if manifest.finished is None:  # the plan is not done yet
        spent, planned = max(spent, method.budget_s or 0.0), method.incarnations
    names = {test.name for test in spec.chosen_tests()}
    if unknown := sorted(set(tests) - names):
        raise UsageError(f"'{spec.name}' has no test '{unknown[0]}'")
    changes: dict[str, object] = {"only": sorted(tests)}
    if extra or spec.budget_of_steps is not None or method.steps is None:
        changes["budget"] = spent + extra
    if method.steps is None:
        starts, length = _turns(spec, manifest, slices, tests)
        more = max(1, round(extra / max(length, _PER_START))) if extra else 0
        changes["incarnations"] = max(starts, planned) + more
    return spec.model_copy(update=changes)


def spec_to_count(spec: Spec, manifest: Manifest, budget: Second) -> Spec:
    """Return the specification that only counts the work of an experiment.

    An experiment that was stopped is measured to its end first.
    """
    changes: dict[str, object] = {"count_budget": budget}
    if manifest.finished is not None:
        changes["incarnations"] = max(1, min(manifest.turns_done.values(), default=1))
        if manifest.method.steps is None:
            changes["budget"] = manifest.spent_s
    return spec.model_copy(update=changes)


def _turns(
    spec: Spec, manifest: Manifest, slices: Collection[Slice], tests: Collection[str]
) -> tuple[int, Second]:
    """Return the largest number of turns of any of the tests, and the length of one turn of all."""
    most, together = 0, 0.0
    for step in plan(spec):
        if step.test.name not in tests:
            continue
        step.slices = [
            record
            for record in slices
            if (record.place.test, record.place.clients) == (step.test.name, step.clients)
        ]
        turns = manifest.turns_done.get(step.key, 0)
        most = max(most, turns)
        together += step.wall_clock(spec.discard) / max(1, turns)
    return most, together
