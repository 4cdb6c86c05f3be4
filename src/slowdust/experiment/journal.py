"""What a run knows and has on disk: the manifest and the slices of every step."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum

from slowdust import __version__
from slowdust.errors import UsageError
from slowdust.experiment.plan import Step, plan, restore
from slowdust.experiment.protocol import PlanText
from slowdust.experiment.spec import Spec, parse_spec
from slowdust.store.folder import Folder, Writer
from slowdust.store.manifest import ContenderFacts, Manifest, Method, Plan
from slowdust.store.records import SCHEMA, Second, Slice


class Beginning(Enum):
    """How an experiment treats what is in its folder."""

    FRESH = "fresh"
    RESUME = "resume"


def check_beginning(spec: Spec, folder: Folder, beginning: Beginning) -> None:
    """Refuse to mix experiments.

    Raises:
        UsageError: a fresh one whose name is taken; nothing to resume, or something else.
    """
    begun = folder.has_manifest()
    if beginning is Beginning.FRESH and begun:
        folder.read_manifest()
        raise UsageError(
            f"there is an experiment named '{spec.name}' already: choose another --name, or go "
            f"on with it by `slowdust run {folder.spec_file} --resume`"
        )
    if beginning is Beginning.RESUME:
        if not begun:
            raise UsageError(f"there is nothing to resume: '{spec.name}' has not been started")
        _check_same(spec, folder)


def _check_same(spec: Spec, folder: Folder) -> None:
    before = parse_spec(tomllib.loads(folder.read_spec()))
    changed = [
        key
        for key in Spec.model_fields
        if key != "budget" and getattr(before, key) != getattr(spec, key)
    ]
    if changed:
        raise UsageError(
            f"cannot resume '{spec.name}': {', '.join(changed)} changed since it was started "
            f"(only the budget may)"
        )


class Journal:
    """Keeps the manifest and the slices, in memory and on disk alike."""

    def __init__(self, spec: Spec, writer: Writer, manifest: Manifest) -> None:
        self.manifest = manifest
        self.steps = plan(spec)
        self._writer = writer
        self._discard = spec.discard
        restore(self.steps, writer.folder.read_slices())
        for step in self.steps:
            step.settled = step.key in manifest.settled
            step.aged_to = manifest.aged_to.get(step.key)
        self._planned = {(p.test, p.contender) for p in manifest.plans}
        self.save()

    @property
    def spent(self) -> Second:
        """Seconds of the budget that the slices on disk took."""
        return sum(step.wall_clock(self._discard) for step in self.steps)

    @property
    def last_incarnation(self) -> int:
        """The number of the newest incarnation; 0 if there was none."""
        return max((s.incarnation for s in self.slices()), default=0)

    def slices(self) -> Iterable[Slice]:
        """All slices so far."""
        return (record for step in self.steps for record in step.slices)

    def add(self, step: Step, record: Slice) -> None:
        """Keep a slice; it is on disk when this returns."""
        self._writer.append(record)
        step.slices.append(record)

    def add_plans(self, step: Step, contender: str, plans: list[PlanText]) -> None:
        """Keep a test's plans on a contender, those of its first incarnation."""
        if (step.test.name, contender) in self._planned:
            return
        self._planned.add((step.test.name, contender))
        self.manifest.plans += [
            Plan(test=step.test.name, contender=contender, statement=p.statement, plan=p.plan)
            for p in plans
        ]

    def settle(self, step: Step) -> None:
        """The step needs no more slices."""
        step.settled = True
        self.manifest.settled.append(step.key)

    def age(self, step: Step, positions: list[int]) -> None:
        """Remember how far a write test aged the data in its first incarnation."""
        if step.aged_to is None:
            step.aged_to = positions
            self.manifest.aged_to[step.key] = positions

    def warn(self, text: str) -> None:
        """Keep a warning for the report."""
        if text not in self.manifest.warnings:
            self.manifest.warnings.append(text)

    def facts(self, contender: str) -> ContenderFacts:
        """A contender's entry in the manifest."""
        return next(entry for entry in self.manifest.contenders if entry.name == contender)

    def save(self) -> None:
        """Write the manifest."""
        self._writer.write_manifest(self.manifest)

    def finish(self) -> None:
        """Mark the experiment as done."""
        self.manifest.finished = _now()
        self.save()


def new_manifest(
    spec: Spec,
    contenders: list[ContenderFacts],
    incarnations: int,
    driver_version: str,
    host: dict[str, str],
) -> Manifest:
    """The manifest of an experiment that begins now."""
    return Manifest(
        schema=SCHEMA,
        experiment=spec.name,
        slowdust=__version__,
        driver=driver_version,
        started=_now(),
        base=contenders[0].name,
        contenders=contenders,
        tests=[test.name for test in spec.chosen_tests()],
        clients=spec.clients,
        method=Method(
            seed=spec.seed,
            tables=spec.tables,
            rows=spec.rows,
            slice_s=spec.slice,
            discard_s=spec.discard,
            budget_s=spec.budget,
            margin=spec.margin,
            incarnations=incarnations,
        ),
        host=host,
    )


def check_builds(before: Manifest, now: list[ContenderFacts]) -> None:
    """Refuse to add slices of other binaries to an experiment.

    Raises:
        UsageError: a build is not the one that the experiment began with.
    """
    old = {entry.name: entry.build.sha256 for entry in before.contenders}
    for entry in now:
        if old.get(entry.name) != entry.build.sha256:
            raise UsageError(f"cannot resume: the binaries of {entry.name} have changed")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
