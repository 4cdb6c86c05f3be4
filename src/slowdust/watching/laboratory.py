"""The experiment of a night: base, last good and new subject side by side, on real servers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from slowdust.analysis.history.circumstances import circumstances_of, host_of
from slowdust.analysis.model import Result
from slowdust.analysis.results.failures import failed_wholly, sentences_about_failures
from slowdust.analysis.stored import Stored, read_stored
from slowdust.bisection.experiments import log_ratio_of
from slowdust.errors import UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.unattended import Watching, run_or_finish, why_not_built
from slowdust.probes.server.procfs import read_text
from slowdust.report import html
from slowdust.store.folder import Folder, replace_file
from slowdust.store.manifest import Manifest
from slowdust.watching.decision import RULES, WORK
from slowdust.watching.file import Watch
from slowdust.watching.series import EXPERIMENTS, Measured, Night, Ratio, Tonight
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

    def __init__(self, watch: Watch, folder: Path, when_busy: WhenBusy, watching: Watching) -> None:
        self._watch = watch
        self._results = folder / EXPERIMENTS
        self._when_busy = when_busy
        self._watching = watching

    def has_begun(self, tonight: Tonight) -> bool:
        """Return whether its experiment has a manifest."""
        return Folder.of(self._results, tonight.experiment).has_manifest()

    def measure(self, tonight: Tonight) -> Night:
        """Run the experiment of a night, or what is left of it."""
        contenders = [tonight.base, tonight.subject.contender]
        if tonight.good is not None and tonight.good.contender != tonight.base:
            contenders.insert(1, tonight.good.contender)
        spec = self._watch.spec(tonight.experiment, contenders)
        folder = Folder.of(self._results, tonight.experiment)
        if not folder.has_manifest():
            alone = self._watch.spec("build", [tonight.subject.contender])
            if error := why_not_built(alone, self._watching):
                if isinstance(error, UsageError):  # the file or the host, not the subject
                    raise error
                return Night(plan=tonight, failed=first_line(str(error)))
        run_or_finish(spec, self._results, self._when_busy, self._watching)
        stored = read_stored(folder)
        report = stored.report()
        page = html.render(report, stored.slices, stored.profiles)
        replace_file(folder.path / "report.html", page.encode())
        for contender in stored.manifest.contenders:
            if contender.failed:
                return Night(plan=tonight, failed=first_line(contender.failed))
        subject = stored.manifest.contenders[-1]
        # Where the base is the last good subject, the place before the new one is its.
        good = None if tonight.good is None else stored.manifest.contenders[-2].name
        host = self._host(stored.manifest)
        measured = _measured(stored, subject.name, good)
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


def _measured(stored: Stored, subject: str, good: str | None) -> list[Measured]:
    """Return the costs of the subject in each test: time, and work where it was counted."""
    direct = {} if good is None else _results(stored, subject, good)
    measured = []
    for key, result in _results(stored, subject, stored.manifest.base).items():
        for metric in RULES:
            if metric == WORK and result.clients != min(stored.manifest.clients):
                continue  # it is counted once, with one client
            base = log_ratio_of(result, metric)
            if base is None:
                continue
            beside = log_ratio_of(direct[key], metric) if key in direct else None
            measured.append(
                Measured(
                    test=result.test,
                    clients=result.clients,
                    metric=metric,
                    base=Ratio(log=base[0], error=base[1]),
                    good=None if beside is None else Ratio(log=beside[0], error=beside[1]),
                )
            )
    return measured


def _results(stored: Stored, subject: str, base: str) -> Mapping[tuple[str, int], Result]:
    report = stored.report(base=base)
    return {
        (result.test, result.clients): result
        for result in report.results
        if result.contender == subject
    }
