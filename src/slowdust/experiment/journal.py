"""What a run knows and has on disk: the manifest and the slices of every step."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum

import msgspec

from slowdust import __version__
from slowdust.errors import UsageError
from slowdust.experiment.driver.protocol import PlanText
from slowdust.experiment.plan import Step, plan, restore
from slowdust.experiment.spec.spec import Spec
from slowdust.store.folder import Folder, Writer
from slowdust.store.manifest import (
    ContenderFacts,
    InsertMethod,
    Manifest,
    Method,
    Plan,
    StepFailure,
)
from slowdust.store.slice import SCHEMA, Slice
from slowdust.units import Second


class Beginning(Enum):
    """How an experiment treats what is in its folder."""

    FRESH = "fresh"
    RESUME = "resume"


def check_beginning(folder: Folder, beginning: Beginning) -> None:
    """Refuse a fresh experiment whose name is taken, and to resume what was never begun.

    Raises:
        UsageError: in both cases, and where a newer Slowdust wrote the results.
    """
    if folder.has_manifest():
        folder.read_manifest()
        if beginning is Beginning.FRESH:
            raise UsageError(
                f"there is an experiment named '{folder.name}' already: choose another --name, or "
                f"go on with it by `slowdust run {folder.spec_file} --resume`"
            )
    elif beginning is Beginning.RESUME:
        raise UsageError(f"there is nothing to resume: '{folder.name}' has not been started")


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
            step.turns_done = manifest.turns_done.get(step.key, 0)
            step.aged_to = manifest.aged_to.get(step.key)
        self._planned = {(p.test, p.contender) for p in manifest.plans}
        self.save()

    @property
    def spent(self) -> Second:
        """Seconds of the budget that are used: up to the last turn, or what slices on disk took."""
        return max(
            self.manifest.spent_s, sum(step.wall_clock(self._discard) for step in self.steps)
        )

    @property
    def last_incarnation(self) -> int:
        """The number of the newest incarnation; 0 if there was none."""
        numbers = [record.place.incarnation for record in self.slices()]
        numbers += [failure.incarnation for failure in self.manifest.failed_steps]
        return max(numbers, default=0)

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

    def fail(self, failure: StepFailure) -> None:
        """A contender did not finish a long step."""
        self.manifest.failed_steps.append(failure)
        self.save()

    def settle(self, step: Step) -> None:
        """The step needs no more slices."""
        step.settled = True
        self.manifest.settled.append(step.key)

    def age(self, step: Step, positions: list[int]) -> None:
        """Remember how far a write test aged the data in its first incarnation."""
        if step.aged_to is None:
            step.aged_to = positions
            self.manifest.aged_to[step.key] = positions

    def end_turn(self, step: Step, spent: Second) -> None:
        """The step has had its turn in this incarnation."""
        step.turns_done += 1
        self.manifest.turns_done[step.key] = step.turns_done
        self.manifest.spent_s = spent
        self.save()

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


def method_of_slices(spec: Spec, incarnations: int) -> Method:
    """How a benchmark of slices is measured."""
    return Method(
        seed=spec.seed,
        tables=spec.tables,
        rows=spec.rows,
        slice_s=spec.slice,
        discard_s=spec.discard,
        warmup_s=spec.warmup,
        budget_s=spec.budget,
        margin=spec.margin,
        incarnations=incarnations,
        rate=spec.rate.per_second if spec.rate else None,
        arrivals=spec.rate.arrivals if spec.rate else None,
    )


def method_of_steps(spec: Spec, incarnations: int, insert: InsertMethod) -> Method:
    """How a benchmark of long steps is measured: without slices, until they end."""
    return Method(
        seed=spec.seed,
        tables=spec.insert_options.tables(max(spec.clients)),
        rows=max(insert.rows.values()),
        slice_s=0.0,
        discard_s=0.0,
        warmup_s=0.0,
        budget_s=0.0,
        margin=spec.margin,
        incarnations=incarnations,
        insert=insert,
    )


def new_manifest(
    spec: Spec,
    contenders: list[ContenderFacts],
    method: Method,
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
        method=method,
        host=host,
    )


def check_same(before: Manifest, now: Manifest) -> None:
    """Refuse to add slices of another experiment; only how long it goes on may have changed.

    Raises:
        UsageError: naming what is not as it was when the experiment began.
    """
    changed = [
        label
        for label, old, new in (
            ("the tests", before.tests, now.tests),
            ("the clients", before.clients, now.clients),
            ("the method", _without_budget(before.method), _without_budget(now.method)),
            ("the contenders", _names(before), _names(now)),
        )
        if old != new
    ]
    for old, new in zip(before.contenders, now.contenders, strict=False):
        if old.build.sha256 != new.build.sha256:
            changed.append(f"the binaries of {new.name}")
        if old.settings and new.settings and old.settings != new.settings:
            changed.append(f"the settings of {new.name}")
        if old.engine != new.engine:
            changed.append(f"the engine of {new.name}")
        if old.environment != new.environment:
            changed.append(f"the environment of {new.name}")
        elif old.allocator_sha256 != new.allocator_sha256:
            changed.append(f"the malloc library of {new.name}")
    if changed:
        may_change = "the budget" if now.method.insert is None else "the number of incarnations"
        raise UsageError(
            f"cannot resume '{before.experiment}': {', '.join(changed)} changed since it was "
            f"started (only {may_change} may)"
        )


def check_same_allocator(before: ContenderFacts, found: str | None) -> None:
    """Refuse to add slices of a server with another malloc; what could not be seen is no other.

    Raises:
        UsageError: naming both.
    """
    if None not in (before.allocator, found) and before.allocator != found:
        raise UsageError(
            f"cannot go on: the malloc of {before.name} is now {found}, and was "
            f"{before.allocator} when the experiment was started"
        )


def _without_budget(method: Method) -> Method:
    return msgspec.structs.replace(method, budget_s=0.0, incarnations=0)


def _names(manifest: Manifest) -> list[str]:
    return [contender.name for contender in manifest.contenders]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
