"""The experiment of a night: base, last good and new subject side by side, on real servers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

import msgspec

from slowdust.analysis.history.circumstances import circumstances_of, host_of
from slowdust.analysis.results.failures import failed_wholly, sentences_about_failures
from slowdust.analysis.results.log_ratio import WORK
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment, Lab, build_error
from slowdust.probes.server.procfs import read_text
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.studies.watch.decision import RULES
from slowdust.studies.watch.file import Watch
from slowdust.studies.watch.series import EXPERIMENTS, Measured, Night, Tonight
from slowdust.wording import first_line

_MACHINE = "/etc/machine-id"
_MOVING_LEVELS = ("Kernel", "Microcode")
"""Facts of a host that may move how a subject compares with the base."""
_DIGITS = 12


class Laboratory(Protocol):
    """Whoever measures a night."""

    def has_begun(self, tonight: Tonight) -> bool:
        """Return whether anything of a night was measured."""
        ...

    def measure(self, tonight: Tonight) -> Night:
        """Measure a night as far as it is wanted, or read what was measured.

        A subject that cannot be built, or a server that does not run, is a night that failed.

        Raises:
            SlowdustError: the measuring itself failed.
        """
        ...


class Experiments:
    """The experiments of a watch, in the results folder `nights/` of its own folder."""

    def __init__(self, watch: Watch, folder: Path, lab: Lab) -> None:
        self._watch = watch
        self._results = folder / EXPERIMENTS
        self._lab = lab

    def has_begun(self, tonight: Tonight) -> bool:
        """Return whether its experiment has a manifest."""
        return Folder.of(self._results, tonight.experiment).has_manifest()

    def measure(self, tonight: Tonight) -> Night:
        """Run the experiment of a night, or what is left of it."""
        contenders = [tonight.base, tonight.subject.contender]
        if tonight.good is not None and tonight.good.contender != tonight.base:
            contenders.insert(1, tonight.good.contender)
        spec = self._watch.spec(tonight.experiment, contenders)
        experiment = Experiment.create_or_open(spec, self._results)
        if not experiment.has_begun:
            alone = self._watch.spec("build", [tonight.subject.contender])
            if error := build_error(self._lab, alone):
                if isinstance(error, UsageError):  # the file or the host, not the subject
                    raise error
                return Night(plan=tonight, failed=first_line(str(error)))
        experiment.run(self._lab)
        experiment.write_page()
        stored, report = experiment.stored, experiment.report()
        for contender in stored.manifest.contenders:
            if contender.failed:
                return Night(plan=tonight, failed=first_line(contender.failed))
        subject = stored.manifest.contenders[-1]
        # Where the base is the last good subject, the place before the new one is its.
        good = None if tonight.good is None else stored.manifest.contenders[-2].name
        host = self._host(stored.manifest)
        measured = _measured(experiment, subject.name, good)
        failures = sentences_about_failures(report)
        if not measured:
            failed = " ".join(failures) or "no test of it can be compared with the base"
            return Night(plan=tonight, failed=failed)
        return Night(
            plan=tonight,
            host=host,
            segment=_segment(host, stored.manifest),
            measured=measured,
            failures=failures,
            failed_wholly=failed_wholly(report),
        )

    def _host(self, manifest: Manifest) -> str:
        """Return the host as its user calls it, or by its facts and the machine's own name."""
        if self._watch.table.host is not None:
            return self._watch.table.host
        facts = [value for _, value in host_of(manifest.host)]
        facts += [manifest.host[label] for label in _MOVING_LEVELS if label in manifest.host]
        if machine := read_text(_MACHINE):
            facts.append(f"machine {_digest(machine)[:6]}")
        return ", ".join(facts)


def _segment(host: str, manifest: Manifest) -> str:
    """Return a digest of all that levels depend on: host, base, data and settings."""
    base = manifest.contenders[0]
    compiled = base.build.compiled
    workload = manifest.workload
    conditions = (
        host,
        base.name,
        None if compiled is None else compiled.commit,
        base.settings,
        circumstances_of(manifest, "").data,
        None if workload is None else workload.sha256,
        manifest.cpus,
        manifest.method.rate,
        manifest.method.memory_bytes,
        manifest.method.pool_bytes,
    )
    return _digest(msgspec.json.encode(conditions).decode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _measured(experiment: Experiment, subject: str, good: str | None) -> list[Measured]:
    """Return the costs of the subject in each test: time, and work where it was counted."""
    manifest = experiment.stored.manifest
    measured = []
    for metric in RULES:
        levels = experiment.log_ratios(subject, manifest.base, metric)
        direct = {} if good is None else experiment.log_ratios(subject, good, metric)
        measured += [
            Measured(
                test=test,
                clients=clients,
                metric=metric,
                base=base,
                good=direct.get((test, clients)),
            )
            for (test, clients), base in levels.items()
            # Work is counted once, with one client.
            if metric != WORK or clients == min(manifest.clients)
        ]
    places = {
        (result.test, result.clients): n for n, result in enumerate(experiment.report().results)
    }
    return sorted(measured, key=lambda each: places[each.test, each.clients])
