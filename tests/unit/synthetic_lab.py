"""A simulated lab: the true ratios of its contenders are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from slowdust.builds import Build
from slowdust.dbms.settings import Settings
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.spec.contenders import parse_contender
from slowdust.experiment.spec.spec import Spec
from slowdust.store.folder import writing
from slowdust.store.manifest import BuildFacts
from slowdust.store.slice import Slice
from tests.unit.synthetic import QUIET, synthetic_experiment


@dataclass
class SimulatedLab:
    """Writes synthetic experiments; contenders are called as they are written."""

    rqps: Mapping[str, float] = field(default_factory=dict)
    """Contender -> true throughput relative to the others."""
    unavailable: Mapping[str, SlowdustError] = field(default_factory=dict)
    """Contender -> why it has no build."""
    spoil: Callable[[Slice], None] = lambda _: None
    """Changes a slice before it is written."""
    before: Callable[[Experiment], None] = lambda _: None
    """Is called before an experiment is measured; raises what stops it."""
    overrun: float = 1.0
    """Time that an experiment takes, relative to its budget."""
    measured: list[Spec] = field(default_factory=list)
    """The specifications in their order."""

    def prepare(self, spec: Spec) -> list[ResolvedContender]:
        """Return contenders without anything to start."""
        for planned in spec.contenders:
            if planned.contender in self.unavailable:
                raise self.unavailable[planned.contender]
        return [_resolved(planned.contender) for planned in spec.contenders]

    def measure(self, experiment: Experiment) -> None:
        """Write a finished experiment."""
        spec = experiment.spec
        self.measured.append(spec)
        self.before(experiment)
        names = [planned.contender for planned in spec.contenders]
        tests = [test.name for test in spec.chosen_tests()]
        seed = crc32(experiment.name.encode())
        manifest, slices = synthetic_experiment(
            names, tests, shifts=dict(self.rqps), noise=QUIET, seed=seed, blocks=4
        )
        manifest.experiment, manifest.spent_s = experiment.name, self.overrun * spec.budget
        for record in slices:
            self.spoil(record)
        with writing(experiment.folder) as writer:
            writer.write_spec(spec.to_toml())
            writer.write_manifest(manifest)
            if not experiment.folder.read_slices():
                writer.append(*slices)

    def phase(self, text: str) -> None:
        """Show nothing."""


def _resolved(name: str) -> ResolvedContender:
    dbms, _, version = name.partition("@")
    facts = BuildFacts(source="directory", version=version)
    build = Build(dbms, version, Path("/b"), "directory", Path("/b/server"), facts)
    settings = Settings("default", {}, {}, {})
    environment = parse_contender(name).environment
    return ResolvedContender(name, build, None, environment, settings)
